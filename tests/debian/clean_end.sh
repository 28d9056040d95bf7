# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# To be sourced: a script that calls clean_at_end leaves nothing behind, however it ends.

# clean_at_end FUNCTION: calls the function when the script ends, also by HUP, INT or TERM. The exit
# status stays what it was, or says which signal it was.
clean_at_end() {
	clean_function=$1
	trap 'clean_and_exit $?' EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

clean_and_exit() {
	trap - EXIT
	"$clean_function"
	exit "$1"
}
