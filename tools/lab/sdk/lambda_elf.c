/* SPDX-License-Identifier: MIT */
#include "tools/lab/sdk/lambda_elf.h"

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NO_ENTRY "it has no function rnic_lambda()"

struct elf {
	const uint8_t *bytes;
	size_t count;
	Elf64_Ehdr header;
	char *complaint;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct elf *elf, const char *format,
							...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(elf->complaint, LAMBDA_COMPLAINT_BYTES, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* `bytes` bytes at `offset`, or NULL where the file has none. */
static const uint8_t *lambda_elf_at(const struct elf *elf, uint64_t offset, uint64_t bytes)
{
	if (offset > elf->count || bytes > elf->count - offset)
		return NULL;
	return elf->bytes + offset;
}

static bool read_section(const struct elf *elf, uint32_t index, Elf64_Shdr *section)
{
	const uint8_t *from = lambda_elf_at(
		elf, elf->header.e_shoff + (uint64_t)index * sizeof(*section), sizeof(*section));

	if (!from || index >= elf->header.e_shnum)
		return false;
	memcpy(section, from, sizeof(*section));
	return true;
}

/* The text at an offset of a section of texts; "?" when there is none. */
static const char *text_of(const struct elf *elf, uint32_t index, uint32_t offset)
{
	Elf64_Shdr section;
	const uint8_t *texts;

	if (!read_section(elf, index, &section) || offset >= section.sh_size)
		return "?";
	texts = lambda_elf_at(elf, section.sh_offset, section.sh_size);
	if (!texts || texts[section.sh_size - 1] != '\0')
		return "?";
	return (const char *)texts + offset;
}

/* ---- sections ---- */

/* Refuses a section that a program's loader would still have to fill or provide. */
static int check_section(const struct elf *elf, const Elf64_Shdr *section, const char *name)
{
	bool is_loaded = section->sh_flags & SHF_ALLOC;

	if (!is_loaded || section->sh_size == 0 || section->sh_type == SHT_DYNAMIC)
		return 0;
	if (section->sh_type == SHT_RELA || section->sh_type == SHT_REL)
		return refuse(elf, "relocations are left: a pointer in a constant table?");
	/* Without relocations .got holds only the entries that linkers always make. */
	if (strcmp(name, ".got") == 0 || strcmp(name, ".lambda") == 0)
		return 0;
	if (section->sh_flags & SHF_WRITE)
		return refuse(elf,
			      "it has writable data (%s): a global variable, or a table of "
			      "pointers?",
			      name);
	return 0;
}

static int find_code(const struct elf *elf, uint32_t *index, Elf64_Shdr *code)
{
	bool is_found = false;

	for (uint32_t i = 1; i < elf->header.e_shnum; i++) {
		Elf64_Shdr section;
		const char *name;
		int error;

		if (!read_section(elf, i, &section))
			return refuse(elf, "its sections are damaged");
		name = text_of(elf, elf->header.e_shstrndx, section.sh_name);
		error = check_section(elf, &section, name);
		if (error)
			return error;
		if (strcmp(name, ".lambda") == 0) {
			is_found = true;
			*index = i;
			*code = section;
		}
	}
	/*
	 * The linker drops everything that the entry does not need: all code, when there is no
	 * entry.
	 */
	if (!is_found || code->sh_size == 0 || code->sh_type != SHT_PROGBITS)
		return refuse(elf, NO_ENTRY);
	if (code->sh_addr != 0 || !lambda_elf_at(elf, code->sh_offset, code->sh_size))
		return refuse(elf, "its code is damaged");
	if (code->sh_size > LAMBDA_CODE_BYTES_MAX)
		return refuse(elf, "it has more than %d bytes", LAMBDA_CODE_BYTES_MAX);
	return 0;
}

/* ---- symbols ---- */

static int check_symbol(const struct elf *elf, const Elf64_Sym *symbol, const char *name,
			uint32_t code_index, const Elf64_Sym **entry)
{
	if (name[0] != '\0' && symbol->st_shndx == SHN_UNDEF)
		return refuse(elf, "\"%s\" is not defined", name);
	if (strcmp(name, "rnic_lambda") == 0 && symbol->st_shndx == code_index &&
	    ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
		*entry = symbol;
	return 0;
}

/* Finds the entry among the symbols of a table. */
static int read_symbols(const struct elf *elf, const Elf64_Shdr *table, uint32_t code_index,
			uint64_t *entry)
{
	const Elf64_Sym *found = NULL;
	Elf64_Sym symbol;

	for (uint64_t i = 1; i < table->sh_size / sizeof(symbol); i++) {
		const uint8_t *from =
			lambda_elf_at(elf, table->sh_offset + i * sizeof(symbol), sizeof(symbol));
		int error;

		if (!from)
			return refuse(elf, "its symbols are damaged");
		memcpy(&symbol, from, sizeof(symbol));
		error = check_symbol(elf, &symbol, text_of(elf, table->sh_link, symbol.st_name),
				     code_index, &found);
		if (error)
			return error;
		if (found == &symbol)
			*entry = symbol.st_value;
		found = NULL;
	}
	return 0;
}

static int find_entry(const struct elf *elf, uint32_t code_index, uint64_t *entry)
{
	*entry = UINT64_MAX;
	for (uint32_t i = 1; i < elf->header.e_shnum; i++) {
		Elf64_Shdr section;
		int error = 0;

		if (read_section(elf, i, &section) && section.sh_type == SHT_SYMTAB)
			error = read_symbols(elf, &section, code_index, entry);
		if (error)
			return error;
	}
	if (*entry == UINT64_MAX)
		return refuse(elf, NO_ENTRY);
	return 0;
}

int lambda_elf_extract(const uint8_t *bytes, size_t count, struct lambda_file *file,
		       char complaint[LAMBDA_COMPLAINT_BYTES])
{
	struct elf elf = {.bytes = bytes, .count = count, .complaint = complaint};
	uint32_t code_index = 0;
	Elf64_Shdr code = {0};
	uint64_t entry;
	int error;

	if (count < sizeof(elf.header) || memcmp(bytes, ELFMAG, SELFMAG) != 0 ||
	    bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != ELFDATA2LSB)
		return refuse(&elf, "the linker made no ELF file of 64 bits");
	memcpy(&elf.header, bytes, sizeof(elf.header));
	if (!lambda_machine_name(elf.header.e_machine))
		return refuse(&elf, "it is for a machine without servers");
	error = find_code(&elf, &code_index, &code);
	if (error)
		return error;
	error = find_entry(&elf, code_index, &entry);
	if (error)
		return error;
	if (entry >= code.sh_size)
		return refuse(&elf, "its entry is not in its code");
	*file = (struct lambda_file){
		.machine = elf.header.e_machine,
		.entry = (uint32_t)entry,
		.code_bytes = (uint32_t)code.sh_size,
		.code = bytes + code.sh_offset,
	};
	return 0;
}
