#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes the mistakes of doc/mistakes.md: each program says what the page says.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/page.sh"

[ "$(id -u)" -eq 0 ] || skip_test "other users and hosts need root"
page=$DOC/mistakes.md
mapfile -t titles < <(python3 -B "$NEWCOMER/type_page.py" titles "$page")
check "the page has twenty mistakes and more" test ${#titles[@]} -ge 20

# starts SOCKET COMMAND...: a daemon, whose log is in SOCKET's folder.
starts() {
	local socket=$1
	shift
	"$@" --socket "$socket" >"$(dirname "$socket")/log" 2>&1 &
	own $!
	wait_for 20 rnicctl show device --socket "$socket" || fail "rnicd at $socket" \
		"$(dirname "$socket")/log"
}

# as_user UID: the command that becomes an ordinary user.
as_user() {
	echo setpriv --reuid "$1" --regid "$1" --clear-groups
}

# Two hosts, far and near, whose interfaces have different MTUs.
make_hosts() {
	make_namespaces netns 9000
	on 1 ip link set veth1 mtu 1500
	starts near.sock ip netns exec "${side_namespace[0]}" rnicd --netdev veth0
	starts far.sock ip netns exec "${side_namespace[1]}" rnicd --netdev veth1
}

make_programs() {
	cat >own.c <<-'END'
		#include <infiniband/verbs.h>
		#include <stdio.h>
		int main(void)
		{
			int count;
			struct ibv_device **list = ibv_get_device_list(&count);
			printf("%d devices\n", count);
			ibv_free_device_list(list);
		}
	END
	cc own.c -o own_program -libverbs
	cc -fsanitize=address own.c -o sanitized_program -libverbs
	echo 'int main(void) { return 0; }' >empty.c
	cc -m32 empty.c -o program_of_32_bit 2>/dev/null
	musl-gcc empty.c -o program_of_musl 2>/dev/null
	cp /usr/bin/ibv_devinfo set_user_id_program
	chmod 4755 set_user_id_program
}

# Other users need not reach the build tree.
cmake --install "$BUILD" --prefix "$WORK/installed" >"$WORK/install.out" 2>&1 ||
	fail "an installation" "$WORK/install.out"
PATH=$WORK/installed/bin:$PATH
chmod 755 .
make_programs
starts a.sock rnicd --address 127.0.0.2
starts b.sock rnicd --address 127.0.0.3
starts private.sock rnicd --address 127.0.0.6 --socket-mode 0600
install -d -o 65533 -m 755 theirs
# shellcheck disable=SC2046 # words
starts theirs/rnicd.sock $(as_user 65533) rnicd --address 127.0.0.7
make_hosts

# type_mistake NUMBER TITLE: as the user, or below the command, that the mistake needs.
type_mistake() {
	local below=()
	case $1 in
	5 | 9 | 10) read -ra below <<<"$(as_user 65534)" ;;
	7) [ -e program_of_32_bit ] || { skip_part "no 32-bit programs: no gcc -m32"; return; } ;;
	8) [ -e program_of_musl ] || { skip_part "no programs of musl: no musl-gcc"; return; } ;;
	15) below=(python3 -B "$INTEROP/host/refuse_calls.py" uring) ;;
	20) on 0 ip rule add to 10.77.0.2 ipproto 17 dport 4791 prohibit ;;
	21) on 0 ip rule del to 10.77.0.2 ipproto 17 dport 4791 prohibit ;;
	esac
	types mistakes.md "$2" "${below[@]}"
}

for title in "${titles[@]}"; do type_mistake "${title%%.*}" "$title"; done

# far_has STATE: of a connection of the far host, or what listens there.
far_has() {
	grep -q "$1" <(rnicctl show cm --socket far.sock)
}

# connects: a program on the near host, with a server on the far one.
connects() {
	local server status
	rnic-run --socket far.sock rping -s -C 1 >"$WORK/server" 2>&1 &
	server=$!
	own "$server"
	wait_for 10 far_has listening
	timeout 1 rnic-run --socket near.sock rping -c -a 10.77.0.2 -C 1 >"$WORK/client" 2>&1
	status=$?
	end_process "$server"
	return $status
}

# The near host drops what belongs to no connection that it knows.
follow_connections() {
	on 0 nft -f - <<-'END'
		table inet filter {
			chain input {
				type filter hook input priority 0;
				ct state established,related accept
				udp dport 4791 drop
			}
		}
	END
}

refuses_answers() {
	local client
	connects &
	client=$!
	wait_for 10 far_has rep-sent && ! wait "$client"
}

echo "# a firewall that follows connections"
rule=$(grep '^nft insert rule' "$page")
on 1 ip link set veth1 mtu 9000
check "without a firewall" connects
if follow_connections 2>"$WORK/nft"; then
	check "the request arrives, and the answer does not" refuses_answers
	# shellcheck disable=SC2086 # words
	check "with the rule of the page" on 0 $rule
	check "both directions pass" connects
else
	skip_part "no firewall that follows connections: $(head -n 1 "$WORK/nft")"
fi

# options_of PROGRAM: the options that the pages name directly behind the program.
# What follows another word belongs to another program.
options_of() {
	grep -rohE --include=*.md "\b$1( --[a-z-]+([= ][^-\`| ][^\`| ]*)?)+" "$DOC" |
		grep -oE -- ' --[a-z-]+' | tr -d ' ' | sort -u
}

echo "# the pages name what there is"
for program in rnicd rnic-run; do
	"$program" --help >"$WORK/help"
	options=$(options_of $program)
	check "$program has options in the pages" test -n "$options"
	for option in $options; do
		check "$program $option" grep -qE -- "(^|[ ,[])$option([^-[:alnum:]]|\$)" \
			"$WORK/help"
	done
done
# shellcheck disable=SC2013 # each line is one word
for kind in $(grep -rohE --include=*.md 'rnicctl show [a-z]+' "$DOC" | cut -d' ' -f3 | sort -u); do
	check "rnicctl show $kind" rnicctl show --socket a.sock "$kind"
done

for process in "${processes[@]}"; do end_process "$process"; done
wait_for 20 all_have_ended
test_finish
