/* SPDX-License-Identifier: MIT */
#include "private_data.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

static const uint8_t magic[4] = {'r', 'd', 'm', 's'};

enum {
	AT_VERSION = 4,
	AT_SAMPLE = 5,
	AT_LENGTH = 6,
	AT_SEED = 8,
	AT_ADDRESS = 12,
	AT_REMOTE_KEY = 20,
	AT_BYTES = 24,
	AT_MESSAGES = 28,
};

static void put16(uint8_t *out, uint16_t value)
{
	value = htobe16(value);
	memcpy(out, &value, sizeof(value));
}

static void put32(uint8_t *out, uint32_t value)
{
	value = htobe32(value);
	memcpy(out, &value, sizeof(value));
}

static void put64(uint8_t *out, uint64_t value)
{
	value = htobe64(value);
	memcpy(out, &value, sizeof(value));
}

static uint16_t get16(const uint8_t *in)
{
	uint16_t value;

	memcpy(&value, in, sizeof(value));
	return be16toh(value);
}

static uint32_t get32(const uint8_t *in)
{
	uint32_t value;

	memcpy(&value, in, sizeof(value));
	return be32toh(value);
}

static uint64_t get64(const uint8_t *in)
{
	uint64_t value;

	memcpy(&value, in, sizeof(value));
	return be64toh(value);
}

void private_data_encode(const struct private_data *data, uint8_t *out)
{
	memcpy(out, magic, sizeof(magic));
	out[AT_VERSION] = PRIVATE_DATA_VERSION;
	out[AT_SAMPLE] = (uint8_t)data->sample;
	put16(out + AT_LENGTH, PRIVATE_DATA_BYTES);
	put32(out + AT_SEED, data->seed);
	put64(out + AT_ADDRESS, data->address);
	put32(out + AT_REMOTE_KEY, data->remote_key);
	put32(out + AT_BYTES, data->bytes);
	put32(out + AT_MESSAGES, data->messages);
}

static int check_header(const uint8_t *in, size_t length)
{
	if (length < PRIVATE_DATA_BYTES)
		return -EMSGSIZE;
	if (memcmp(in, magic, sizeof(magic)) != 0)
		return -EPROTO;
	if (in[AT_VERSION] != PRIVATE_DATA_VERSION)
		return -EPROTONOSUPPORT;
	if (get16(in + AT_LENGTH) != PRIVATE_DATA_BYTES)
		return -EMSGSIZE;
	return 0;
}

static int check_values(const struct private_data *data)
{
	if (data->sample != SAMPLE_ONE_SIDED && data->sample != SAMPLE_IMMEDIATE)
		return -EINVAL;
	if (data->bytes == 0 || data->messages == 0)
		return -EINVAL;
	return data->address > UINT64_MAX - data->bytes ? -EINVAL : 0;
}

int private_data_decode(const uint8_t *in, size_t length, struct private_data *data)
{
	struct private_data found;
	int error = check_header(in, length);

	if (error != 0)
		return error;
	found = (struct private_data){
		.sample = in[AT_SAMPLE],
		.seed = get32(in + AT_SEED),
		.address = get64(in + AT_ADDRESS),
		.remote_key = get32(in + AT_REMOTE_KEY),
		.bytes = get32(in + AT_BYTES),
		.messages = get32(in + AT_MESSAGES),
	};
	error = check_values(&found);
	if (error == 0)
		*data = found;
	return error;
}
