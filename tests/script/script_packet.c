/* SPDX-License-Identifier: MIT */
#include "tests/script/script_packet.h"

#include "proto/base/bits.h"
#include "proto/wire/icrc.h"
#include "proto/wire/syndrome.h"
#include "tests/script/script.h"
#include "tests/script/script_names.h"
#include "tests/script/script_text.h"

#include <inttypes.h>
#include <string.h>

#define ACK_SYNDROME (RNIC_SYNDROME_ACK << 5 | RNIC_CREDITS_NOT_CARRIED)
#define DEFAULT_PKEY 0xffff

enum field_kind { KIND_NUMBER, KIND_HEX, KIND_FLAG };

static const struct field {
	const char *name;
	enum field_kind kind;
	uint64_t most;
	uint64_t default_value;
	uint16_t headers;	 /* any of which carries it; 0: every packet does */
	bool is_wanted;		 /* an inbound packet that carries it must give it */
	bool is_always_compared; /* also when an outbound packet does not give it */
} fields[FIELD_COUNT] = {
	/* clang-format off */
	[FIELD_PSN] = {.name = "psn", .most = RNIC_PSN_MASK, .is_wanted = true},
	[FIELD_LEN] = {.name = "len", .most = RNIC_PAYLOAD_BYTES_MAX, .is_always_compared = true},
	[FIELD_VA] = {.name = "va", .kind = KIND_HEX, .most = UINT64_MAX,
		      .headers = RNIC_HEADER_RETH | RNIC_HEADER_ATOMIC, .is_wanted = true},
	[FIELD_RKEY] = {.name = "rkey", .kind = KIND_HEX, .most = UINT32_MAX,
			.headers = RNIC_HEADER_RETH | RNIC_HEADER_ATOMIC, .is_wanted = true},
	[FIELD_DMALEN] = {.name = "dmalen", .most = UINT32_MAX, .headers = RNIC_HEADER_RETH,
			  .is_wanted = true},
	[FIELD_COMPARE] = {.name = "compare", .most = UINT64_MAX, .headers = RNIC_HEADER_ATOMIC},
	[FIELD_SWAP] = {.name = "swap", .most = UINT64_MAX, .headers = RNIC_HEADER_ATOMIC},
	[FIELD_ADD] = {.name = "add", .most = UINT64_MAX, .headers = RNIC_HEADER_ATOMIC},
	[FIELD_SYNDROME] = {.name = "syndrome", .most = 0xff, .default_value = ACK_SYNDROME,
			    .headers = RNIC_HEADER_AETH, .is_always_compared = true},
	[FIELD_MSN] = {.name = "msn", .most = RNIC_PSN_MASK, .headers = RNIC_HEADER_AETH},
	[FIELD_ORIGINAL] = {.name = "original", .most = UINT64_MAX,
			    .headers = RNIC_HEADER_ATOMIC_ACK, .is_wanted = true},
	[FIELD_IMM] = {.name = "imm", .kind = KIND_HEX, .most = UINT32_MAX,
		       .headers = RNIC_HEADER_IMMEDIATE, .is_wanted = true},
	[FIELD_INV] = {.name = "inv", .kind = KIND_HEX, .most = UINT32_MAX,
		       .headers = RNIC_HEADER_INVALIDATE, .is_wanted = true},
	[FIELD_FLUSH] = {.name = "flush", .kind = KIND_HEX, .most = 0x3f,
			 .headers = RNIC_HEADER_FETH, .is_wanted = true},
	[FIELD_ACK_REQ] = {.name = "ack_req", .kind = KIND_FLAG, .is_always_compared = true},
	[FIELD_SOLICITED] = {.name = "solicited", .kind = KIND_FLAG, .is_always_compared = true},
	[FIELD_MIGREQ] = {.name = "migreq", .most = 1, .default_value = 1,
			  .is_always_compared = true},
	[FIELD_PKEY] = {.name = "pkey", .kind = KIND_HEX, .most = 0xffff,
			.default_value = DEFAULT_PKEY, .is_always_compared = true},
	[FIELD_DEST_QP] = {.name = "dest_qp", .kind = KIND_HEX, .most = 0xffffff},
	[FIELD_SRQN] = {.name = "srqn", .kind = KIND_HEX, .most = 0xffffff,
			.headers = RNIC_HEADER_XRCETH},
	[FIELD_QKEY] = {.name = "qkey", .kind = KIND_HEX, .most = UINT32_MAX,
			.headers = RNIC_HEADER_DETH},
	[FIELD_ECN] = {.name = "ecn", .most = 3},
	[FIELD_BECN] = {.name = "becn", .kind = KIND_FLAG, .is_always_compared = true},
	/* clang-format on */
};

static uint64_t get_field(const struct rnic_packet *packet, enum script_field field)
{
	bool is_atomic = (packet->row->headers & RNIC_HEADER_ATOMIC) != 0;

	switch (field) {
	case FIELD_PSN:
		return packet->psn.value;
	case FIELD_LEN:
		return packet->payload_bytes;
	case FIELD_VA:
		return is_atomic ? packet->atomic.address : packet->reth.address;
	case FIELD_RKEY:
		return is_atomic ? packet->atomic.rkey : packet->reth.rkey;
	case FIELD_DMALEN:
		return packet->reth.length;
	case FIELD_COMPARE:
		return packet->atomic.compare;
	case FIELD_SWAP:
	case FIELD_ADD:
		return packet->atomic.swap_or_add;
	case FIELD_SYNDROME:
		return packet->aeth.syndrome;
	case FIELD_MSN:
		return packet->aeth.msn;
	case FIELD_ORIGINAL:
		return packet->atomic_original;
	case FIELD_IMM:
		return packet->immediate;
	case FIELD_INV:
		return packet->invalidate_rkey;
	case FIELD_FLUSH:
		return packet->flush_type;
	case FIELD_ACK_REQ:
		return packet->ack_request;
	case FIELD_SOLICITED:
		return packet->solicited;
	case FIELD_MIGREQ:
		return packet->migrated;
	case FIELD_PKEY:
		return packet->pkey;
	case FIELD_DEST_QP:
		return packet->dest_qpn;
	case FIELD_SRQN:
		return packet->xrc_srqn;
	case FIELD_QKEY:
		return packet->qkey;
	case FIELD_ECN:
		return packet->addresses.traffic_class & 3;
	case FIELD_BECN:
		return packet->becn;
	case FIELD_COUNT:
		break;
	}
	return 0;
}

/* --- reading --------------------------------------------------------------------------------- */

static bool is_given(const struct script_packet *packet, enum script_field field)
{
	return (packet->given & UINT32_C(1) << field) != 0;
}

static void give(struct script_packet *packet, enum script_field field, uint64_t value)
{
	packet->given |= UINT32_C(1) << field;
	packet->values[field] = value;
}

/* COMPARE SWAP has a `swap` where FETCH ADD has an `add`. */
static bool carries(const struct rnic_opcode *row, enum script_field field)
{
	if (fields[field].headers != 0 && (row->headers & fields[field].headers) == 0)
		return false;
	if (field == FIELD_ADD)
		return row->operation == RNIC_OPERATION_FETCH_ADD;
	if (field == FIELD_COMPARE || field == FIELD_SWAP)
		return row->operation == RNIC_OPERATION_COMPARE_SWAP;
	return true;
}

/* The opcode whose name has the most words of the next ones. */
static bool parse_opcode(struct script_line *line, struct script_packet *out)
{
	uint32_t longest = 0;

	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		const struct rnic_opcode *row = rnic_opcode_row((uint8_t)opcode);
		const char *name = row->name;
		uint32_t words = 0;

		while (row->operation != RNIC_OPERATION_NONE && *name != '\0') {
			size_t length = strcspn(name, " ");

			if (line->next + words == line->word_count ||
			    strlen(line->words[line->next + words]) != length ||
			    strncmp(line->words[line->next + words], name, length) != 0)
				break;
			words++;
			name += length + (name[length] == ' ');
		}
		if (*name == '\0' && words > longest) {
			longest = words;
			out->opcode = (uint8_t)opcode;
		}
	}
	if (longest == 0)
		return script_line_complain(line,
					    "expected an opcode such as RC SEND ONLY, got '%s'",
					    script_line_peek(line));
	line->next += longest;
	return true;
}

/* "NAME" or, of a window, "NAME.TAG". */
static bool try_parse_name(const char *word, const struct script *script, struct script_key *out)
{
	size_t length = strcspn(word, ".");
	bool has_tag = word[length] == '.';
	uint64_t tag = 0;

	if (has_tag && (!script_word_is_number(word + length + 1, &tag) || tag > UINT8_MAX))
		return false;
	for (uint32_t i = 0; i < script->region_count; i++) {
		const struct script_region *region = &script->regions[i];

		if (strlen(region->name) != length || strncmp(region->name, word, length) != 0 ||
		    (has_tag && region->window_type == 0))
			continue;
		*out = (struct script_key){
			.is_region = true,
			.has_tag = has_tag,
			.tag = (uint8_t)tag,
			.value = i,
		};
		return true;
	}
	return false;
}

uint32_t script_key_resolve(const struct script_key *key, const uint32_t *region_keys)
{
	if (!key->is_region)
		return key->value;
	if (!key->has_tag)
		return region_keys[key->value];
	return (region_keys[key->value] & ~UINT32_C(0xff)) | key->tag;
}

bool script_key_parse(struct script_line *line, const struct script *script, struct script_key *out)
{
	const char *word = script_line_take(line, "a region's name or a key");
	uint64_t number;

	if (word == NULL)
		return false;
	if (try_parse_name(word, script, out))
		return true;
	if (!script_word_is_number(word, &number) || number > UINT32_MAX)
		return script_line_complain(line, "expected a region's name or a key, got '%s'",
					    word);
	*out = (struct script_key){.value = (uint32_t)number};
	return true;
}

bool script_pattern_parse(struct script_line *line, struct script_pattern *out)
{
	const char *what = "bytes such as 0x11 or 0x11..";
	enum pattern_kind kind = PATTERN_CONSTANT;
	const char *word;
	char number[8];
	uint64_t value;
	size_t length;

	if (script_line_accept(line, "word")) {
		out->kind = PATTERN_WORD;
		return script_line_number(line, "a 64-bit number", UINT64_MAX, &out->value);
	}
	word = script_line_take(line, what);
	if (word == NULL)
		return false;
	length = strlen(word);
	if (length > 2 && strcmp(word + length - 2, "..") == 0) {
		kind = PATTERN_COUNTING;
		length -= 2;
	}
	snprintf(number, sizeof(number), "%.*s", length < 8 ? (int)length : 0, word);
	if (!script_word_is_number(number, &value) || value > 0xff)
		return script_line_complain(line, "expected %s, got '%s'", what, word);
	*out = (struct script_pattern){kind, value};
	return true;
}

/* "NAK name", "RNR_NAK code", "credits code": the ways to write a syndrome; false: none of them. */
static bool try_parse_syndrome(struct script_line *line, struct script_packet *out)
{
	uint32_t name = 0;
	uint64_t value = 0;

	if (script_line_accept(line, "NAK")) {
		script_line_name(line, "a NAK code", script_nak_names, SCRIPT_NAK_CODES, &name);
		value = rnic_syndrome_make(RNIC_SYNDROME_NAK, (uint8_t)name);
	} else if (script_line_accept(line, "RNR_NAK")) {
		script_line_number(line, "an RNR timer code", 31, &value);
		value = rnic_syndrome_make(RNIC_SYNDROME_RNR_NAK, (uint8_t)value);
	} else if (script_line_accept(line, "credits")) {
		script_line_number(line, "a credit code", 31, &value);
		out->has_credits = true;
	} else {
		return false;
	}
	give(out, FIELD_SYNDROME, value);
	return true;
}

/* A field of the table. */
static bool parse_field(struct script_line *line, const struct script *script,
			struct script_packet *out)
{
	const char *word = script_line_take(line, "a field");
	const struct rnic_opcode *row = rnic_opcode_row(out->opcode);
	uint64_t value = 1;

	for (uint32_t i = 0; i < FIELD_COUNT; i++) {
		if (strcmp(word, fields[i].name) != 0)
			continue;
		if (!carries(row, i))
			return script_line_complain(line, "%s carries no %s", row->name, word);
		if (is_given(out, i))
			return script_line_complain(line, "%s is given twice", word);
		if (i == FIELD_RKEY || i == FIELD_INV) {
			if (!script_key_parse(line, script,
					      i == FIELD_RKEY ? &out->rkey : &out->inv))
				return false;
		} else if (fields[i].kind != KIND_FLAG &&
			   !script_line_number(line, word, fields[i].most, &value)) {
			return false;
		}
		if (i == FIELD_SYNDROME)
			out->has_credits = true;
		give(out, i, value);
		return true;
	}
	return script_line_complain(line, "expected a packet's field, got '%s'", word);
}

static bool parse_word(struct script_line *line, const struct script *script, bool is_inbound,
		       struct script_packet *out)
{
	const struct rnic_opcode *row = rnic_opcode_row(out->opcode);

	if (script_line_accept(line, "data"))
		return script_pattern_parse(line, &out->data);
	if (is_inbound && script_line_accept(line, "damaged")) {
		out->is_damaged = true;
		return true;
	}
	if (is_inbound && script_line_accept(line, "from_other")) {
		out->is_from_other = true;
		return true;
	}
	if (try_parse_syndrome(line, out)) {
		if ((row->headers & RNIC_HEADER_AETH) == 0)
			script_line_complain(line, "%s carries no syndrome", row->name);
		return line->error[0] == '\0';
	}
	return parse_field(line, script, out);
}

bool script_packet_parse(struct script_line *line, const struct script *script, bool is_inbound,
			 struct script_packet *out)
{
	const struct rnic_opcode *row;

	*out = (struct script_packet){0};
	if (!parse_opcode(line, out))
		return false;
	row = rnic_opcode_row(out->opcode);
	while (line->next < line->word_count) {
		if (!parse_word(line, script, is_inbound, out))
			return false;
	}
	for (uint32_t i = 0; i < FIELD_COUNT; i++) {
		if (is_given(out, i))
			continue;
		out->values[i] = fields[i].default_value;
		if (is_inbound && fields[i].is_wanted && carries(row, i))
			return script_line_complain(line, "expected %s: %s carries it",
						    fields[i].name, row->name);
	}
	if (row->payload == RNIC_PAYLOAD_NONE && out->values[FIELD_LEN] != 0)
		return script_line_complain(line, "%s carries no payload", row->name);
	if (!is_given(out, FIELD_PSN))
		return script_line_complain(line, "expected psn");
	return true;
}

/* --- bytes ----------------------------------------------------------------------------------- */

void script_pattern_fill(const struct script_pattern *pattern, uint8_t *bytes, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++) {
		switch (pattern->kind) {
		case PATTERN_NONE:
			bytes[i] = 0;
			break;
		case PATTERN_CONSTANT:
			bytes[i] = (uint8_t)pattern->value;
			break;
		case PATTERN_COUNTING:
			bytes[i] = (uint8_t)(pattern->value + i);
			break;
		case PATTERN_WORD:
			bytes[i] = ((const uint8_t *)&pattern->value)[i % 8];
			break;
		}
	}
}

static uint32_t resolve_rkey(const struct script_packet *packet,
			     const struct script_resolver *resolver)
{
	return script_key_resolve(&packet->rkey, resolver->region_keys);
}

static struct rnic_packet to_wire(const struct script_packet *packet,
				  const struct script_resolver *resolver)
{
	const struct rnic_opcode *row = rnic_opcode_row(packet->opcode);
	const uint64_t *values = packet->values;
	struct rnic_packet wire = {
		.row = row,
		.opcode = packet->opcode,
		.solicited = values[FIELD_SOLICITED] != 0,
		.migrated = values[FIELD_MIGREQ] != 0,
		.ack_request = values[FIELD_ACK_REQ] != 0,
		.becn = values[FIELD_BECN] != 0,
		.pkey = (uint16_t)values[FIELD_PKEY],
		.dest_qpn = is_given(packet, FIELD_DEST_QP) ? (uint32_t)values[FIELD_DEST_QP]
							    : resolver->engine_qpn,
		.psn = rnic_psn((uint32_t)values[FIELD_PSN]),
		.payload_bytes = (uint32_t)values[FIELD_LEN],
	};

	if (row->headers & RNIC_HEADER_RETH)
		wire.reth = (struct rnic_reth){values[FIELD_VA], resolve_rkey(packet, resolver),
					       (uint32_t)values[FIELD_DMALEN]};
	if (row->headers & RNIC_HEADER_ATOMIC)
		wire.atomic = (struct rnic_atomic_header){
			.address = values[FIELD_VA],
			.rkey = resolve_rkey(packet, resolver),
			.swap_or_add = values[FIELD_SWAP] | values[FIELD_ADD],
			.compare = values[FIELD_COMPARE],
		};
	wire.aeth =
		(struct rnic_aeth){(uint8_t)values[FIELD_SYNDROME], (uint32_t)values[FIELD_MSN]};
	wire.atomic_original = values[FIELD_ORIGINAL];
	wire.immediate = (uint32_t)values[FIELD_IMM];
	wire.invalidate_rkey = script_key_resolve(&packet->inv, resolver->region_keys);
	wire.flush_type = (uint32_t)values[FIELD_FLUSH];
	wire.xrc_srqn =
		is_given(packet, FIELD_SRQN) ? (uint32_t)values[FIELD_SRQN] : resolver->engine_srqn;
	wire.qkey =
		is_given(packet, FIELD_QKEY) ? (uint32_t)values[FIELD_QKEY] : resolver->engine_qkey;
	wire.source_qpn = resolver->script_qpn;
	return wire;
}

uint32_t script_packet_encode(const struct script_packet *packet,
			      const struct script_resolver *resolver,
			      const struct rnic_addresses *addresses, uint8_t *bytes)
{
	struct rnic_packet wire = to_wire(packet, resolver);
	size_t length = rnic_packet_encode_headers(&wire, bytes);
	uint32_t pad_bytes = rnic_pad_bytes(wire.payload_bytes);
	uint32_t icrc;

	script_pattern_fill(&packet->data, bytes + length, wire.payload_bytes);
	memset(bytes + length + wire.payload_bytes, 0, pad_bytes);
	length += wire.payload_bytes + pad_bytes;
	icrc = rnic_icrc_compute(addresses, 0, bytes, length);
	rnic_icrc_write(bytes + length, packet->is_damaged ? ~icrc : icrc);
	return (uint32_t)length + RNIC_ICRC_BYTES;
}

/* --- comparing ------------------------------------------------------------------------------- */

static bool is_syndrome_right(const struct script_packet *expected, uint64_t got)
{
	uint8_t wanted = (uint8_t)expected->values[FIELD_SYNDROME];

	if (expected->has_credits || rnic_syndrome_kind(wanted) != RNIC_SYNDROME_ACK)
		return got == wanted;
	return rnic_syndrome_kind((uint8_t)got) == RNIC_SYNDROME_ACK;
}

static bool is_field_right(const struct script_packet *expected,
			   const struct script_resolver *resolver, enum script_field field,
			   uint64_t got)
{
	if (field == FIELD_SYNDROME)
		return is_syndrome_right(expected, got);
	if (field == FIELD_RKEY)
		return !is_given(expected, field) || got == resolve_rkey(expected, resolver);
	if (field == FIELD_INV)
		return !is_given(expected, field) ||
		       got == script_key_resolve(&expected->inv, resolver->region_keys);
	if (field == FIELD_DEST_QP)
		return got == resolver->script_qpn;
	if (!is_given(expected, field) && !fields[field].is_always_compared)
		return true;
	return got == expected->values[field];
}

static bool are_bytes_right(const struct script_pattern *pattern, const struct rnic_packet *got,
			    char *why, size_t why_bytes)
{
	uint8_t wanted[RNIC_PAYLOAD_BYTES_MAX];

	if (pattern->kind == PATTERN_NONE)
		return true;
	script_pattern_fill(pattern, wanted, got->payload_bytes);
	for (uint32_t i = 0; i < got->payload_bytes; i++) {
		if (got->payload[i] == wanted[i])
			continue;
		snprintf(why, why_bytes, "byte %u of the payload is %#x, not %#x", i,
			 got->payload[i], wanted[i]);
		return false;
	}
	return true;
}

bool script_packet_matches(const struct script_packet *expected,
			   const struct script_resolver *resolver, const struct rnic_packet *got,
			   char *why, size_t why_bytes)
{
	const struct rnic_opcode *row = rnic_opcode_row(expected->opcode);

	if (got->opcode != expected->opcode) {
		snprintf(why, why_bytes, "the opcode is %s, not %s", got->row->name, row->name);
		return false;
	}
	for (uint32_t i = 0; i < FIELD_COUNT; i++) {
		uint64_t value = get_field(got, i);

		if (!carries(row, i) || is_field_right(expected, resolver, i, value))
			continue;
		snprintf(why, why_bytes, "%s is %#" PRIx64 " (%" PRIu64 ")", fields[i].name, value,
			 value);
		return false;
	}
	return are_bytes_right(&expected->data, got, why, why_bytes);
}

/* --- printing -------------------------------------------------------------------------------- */

static void print_syndrome(FILE *out, uint8_t syndrome)
{
	uint8_t value = rnic_syndrome_value(syndrome);

	switch (rnic_syndrome_kind(syndrome)) {
	case RNIC_SYNDROME_ACK:
		if (value != RNIC_CREDITS_NOT_CARRIED)
			fprintf(out, " credits %u", value);
		return;
	case RNIC_SYNDROME_RNR_NAK:
		fprintf(out, " RNR_NAK %u", value);
		return;
	case RNIC_SYNDROME_NAK:
		if (value < SCRIPT_NAK_CODES) {
			fprintf(out, " NAK %s", script_nak_names[value]);
			return;
		}
		break;
	case RNIC_SYNDROME_RESERVED:
		break;
	}
	fprintf(out, " syndrome %#x", syndrome);
}

static void print_key(FILE *out, const struct script_resolver *resolver, uint64_t key)
{
	for (uint32_t i = 0; i < resolver->script->region_count; i++) {
		if (resolver->region_keys[i] == key) {
			fprintf(out, " rkey %s", resolver->script->regions[i].name);
			return;
		}
	}
	fprintf(out, " rkey %#" PRIx64, key);
}

static void print_field(FILE *out, const struct script_resolver *resolver, enum script_field field,
			uint64_t value)
{
	const struct field *row = &fields[field];

	if (field == FIELD_SYNDROME)
		print_syndrome(out, (uint8_t)value);
	else if (field == FIELD_RKEY)
		print_key(out, resolver, value);
	else if (row->kind == KIND_FLAG)
		fprintf(out, "%s%s", value != 0 ? " " : "", value != 0 ? row->name : "");
	else if (row->kind == KIND_HEX)
		fprintf(out, " %s %#" PRIx64, row->name, value);
	else
		fprintf(out, " %s %" PRIu64, row->name, value);
}

/* Fields that are as ever are left out. */
static bool is_worth_printing(const struct script_resolver *resolver, enum script_field field,
			      uint64_t value)
{
	switch (field) {
	case FIELD_ECN:
	case FIELD_LEN:
	case FIELD_MIGREQ:
	case FIELD_PKEY:
		return value != fields[field].default_value;
	case FIELD_DEST_QP:
		return value != resolver->script_qpn && value != resolver->engine_qpn;
	case FIELD_SRQN:
		return value != resolver->engine_srqn;
	case FIELD_QKEY:
		return value != resolver->engine_qkey;
	default:
		return true;
	}
}

void script_packet_print(FILE *out, const struct script_resolver *resolver,
			 const struct rnic_packet *packet)
{
	fprintf(out, "%s", packet->row->name);
	for (uint32_t i = 0; i < FIELD_COUNT; i++) {
		uint64_t value = get_field(packet, i);

		if (carries(packet->row, i) && is_worth_printing(resolver, i, value))
			print_field(out, resolver, i, value);
	}
	if (packet->payload_bytes > 0)
		fprintf(out, " data %#x%s", packet->payload[0],
			packet->payload_bytes > 1 && packet->payload[1] == packet->payload[0]
				? ""
				: "..");
}
