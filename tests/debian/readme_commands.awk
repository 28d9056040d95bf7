# SPDX-License-Identifier: MIT
#
# Prints the commands of a Markdown file, in order, one a line. Of an indented block they are the
# lines behind a prompt, "$ " or "host$ ", or all lines where no line has a prompt. A block whose
# first line is one word is output. Of a fenced block of sh they are all lines. The prompt of a host
# stays.

function end_block(i) {
	for (i = 0; i < count; i++)
		if (!is_output && (has_prompt[i] || !prompts))
			print lines[i]
	count = prompts = is_output = 0
	delete has_prompt
}

/^```/ { end_block(); is_fenced = !is_fenced; is_shell = $0 == "```sh"; next }
is_fenced { if (is_shell && !/^$/) print; next }

/^    / && (is_after_blank || count > 0) {
	text = substr($0, 5)
	if (count == 0 && text ~ /^[a-z]+$/)
		is_output = 1
	if (text ~ /^([a-z]+-[a-z])?\$ /) {
		has_prompt[count] = prompts = 1
		sub(/^\$ /, "", text)
	}
	lines[count++] = text
	next
}

# An empty line does not end a block.
/^$/ { is_after_blank = 1; next }

{
	end_block()
	is_after_blank = 0
}

END { end_block() }
