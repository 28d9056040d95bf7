# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The steps of type_readme.sh. A command that a page has must be the page's next one. A command that
# fails, or whose output does not say what it should, is a fault, and typing goes on.

STEP_SECONDS=1800 # the most for one command
declare -A hosts   # a process of each

fault() {
	faults=$((faults + 1))
	echo "FAIL  $1"
	[ -n "$is_check" ] || tail -n 25 "$output" 2>/dev/null | sed 's/^/      | /'
}

# page NAME: the commands of the next page follow. All of the page before must have had their place.
page() {
	end_page
	page=$1
	read_pages+=("$page")
	mapfile -t commands < <(awk -f "$here/readme_commands.awk" "$top/$page")
	next=0
	all_commands=$((all_commands + ${#commands[@]}))
	[ -n "$is_check" ] || echo "== $page"
}

end_page() {
	[ -z "$page" ] || [ $next -eq ${#commands[@]} ] || match "the end"
}

# typed_elsewhere PAGE TEST: another test types this page.
typed_elsewhere() {
	[ -e "$top/$2" ] || fault "there is no $2, which types $1"
	read_pages+=("$1")
}

# A page that nobody types must have no command.
check_no_page_is_forgotten() {
	local name
	for name in $(cd "$top" && find doc -name '*.md' | sort); do
		case " ${read_pages[*]} " in *" $name "*) continue ;; esac
		[ -z "$(awk -f "$here/readme_commands.awk" "$top/$name")" ] ||
			fault "tests/debian/type_readme.sh does not type $name"
	done
}

# match COMMAND: the page's next command must be this one.
match() {
	if [ "${commands[next]:-}" = "$1" ]; then
		next=$((next + 1))
		return
	fi
	echo "FAIL  $page goes on with: ${commands[next]:-nothing}"
	echo "      tests/debian/type_readme.sh goes on with: $1"
	exit 1
}

# enter_host HOST COMMAND...: on one of the two hosts, "": here.
enter_host() {
	local host=$1
	shift
	if [ -z "$host" ]; then
		"$@"
	else
		nsenter --target "${hosts[$host]}" --net --mount --wd="$top" "$@"
	fi
}

# run_command COMMAND [PREFIX...]: a command with the prompt of a host runs there; this shell keeps
# variables.
run_command() {
	local command=$1
	shift
	case $command in
	host-[ab]\$\ *) enter_host "${command%%\$ *}" "$@" bash -c "${command#*\$ }" ;;
	export\ * | preload=*) eval "$command" ;;
	*) "$@" bash -c "$command" ;;
	esac
}

# is_left_out: whether only other pages are to be typed.
is_left_out() {
	# shellcheck disable=SC2053 # the option is a pattern of pages
	[ -n "$only" ] && [[ $page != $only ]]
}

# runs COMMAND
runs() {
	[ -z "$is_check" ] && ! is_left_out || return 0
	typed=$((typed + 1))
	output=$logs/$typed
	echo "      \$ $1"
	SECONDS=0
	run_command "$1" timeout $STEP_SECONDS </dev/null >"$output" 2>&1 || fault "status $?: $1"
	[ $SECONDS -lt 10 ] || echo "        ($SECONDS s)"
}

# types COMMAND [REAL COMMAND]
types() {
	match "$1"
	runs "${2:-$1}"
}

# leaves COMMAND REASON: a command that nobody types here.
leaves() {
	match "$1"
	[ -n "$is_check" ] || is_left_out || echo "not typed, for $2: $1"
}

# The page shows the output of the last command with its commands, of which this is the next.
prints_command() {
	local command=${commands[next]}
	next=$((next + 1))
	[ -n "$is_check" ] || is_left_out || grep -qxF "\$ $command" "$output" ||
		fault "does not print: $command"
}

# says REGEX: a line of the last command's output.
says() {
	[ -n "$is_check" ] || is_left_out || grep -qE -- "$1" "$output" || fault "does not say: $1"
}

# reads TEXT: what the page says in a sentence. A command is typed.
reads() {
	grep -qF -- "$1" "$top/$page" || fault "$page does not say: $1"
	case $1 in
	\`tools*) runs "$(tr -d '\`' <<<"$1")" ;;
	esac
}

# installs PACKAGE: which the page names. An ordinary user must have it already.
installs() {
	grep -qE "\`$1\`" "$top/$page" || fault "$page does not name the package $1"
	if [ "$(id -u)" -eq 0 ]; then
		runs "apt-get install -y -qq --no-install-recommends $1"
	else
		runs "dpkg-query --show $1"
	fi
}

# listens HOST KIND WHAT: a program listens at a TCP port, or by the daemon of a socket, or that
# daemon answers; "": the daemon at the usual place.
listens() {
	case $2 in
	tcp) [ -n "$(enter_host "$1" ss -Hltn "sport = :$3")" ] ;;
	rnic) enter_host "$1" build/bin/rnicctl show device ${3:+--socket "$3"} >/dev/null 2>&1 ;;
	cm) build/bin/rnicctl show cm ${3:+--socket "$3"} 2>&1 | grep -q listening ;;
	esac
}

# starts COMMAND tcp|cm|rnic PORT|SOCKET: in the background, and waits until it listens.
starts() {
	local command=${1% &} host=""
	[ -z "$is_check" ] && ! is_left_out || return 0
	typed=$((typed + 1))
	output=$logs/$typed
	echo "      \$ $command &"
	set -m
	run_command "$command" </dev/null >"$output" 2>&1 &
	background+=($!)
	set +m
	case $command in host-*) host=${command%%\$ *} ;; esac
	SECONDS=0
	until listens "$host" "$2" "${3:-}"; do
		[ $SECONDS -lt 30 ] || { fault "does not listen: $command"; return; }
		sleep 0.1 # between two polls
	done
}

# serves COMMAND tcp|cm|rnic PORT|SOCKET [REAL COMMAND]: the page's command, in the background.
serves() {
	match "$1"
	starts "${4:-$1}" "$2" "${3:-}"
}

# Ends the groups of processes, and waits for all of each.
end_background() {
	local group
	# wait without a process waits for the hosts, too.
	[ ${#background[@]} -gt 0 ] || return 0
	for group in "${background[@]}"; do kill -TERM -- "-$group" 2>/dev/null; done
	SECONDS=0
	for group in "${background[@]}"; do
		while kill -0 -- "-$group" 2>/dev/null && [ $SECONDS -lt 20 ]; do
			sleep 0.1 # between two polls
		done
		kill -KILL -- "-$group" 2>/dev/null
	done
	wait "${background[@]}" 2>/dev/null
	background=()
}

end_hosts() {
	local host
	for host in "${!hosts[@]}"; do
		kill "${hosts[$host]}"
		ip netns delete "$host"
	done
}

# Two hosts on one link, each with a network and a /run of its own.
has_two_hosts() {
	local host
	[ -z "$is_check" ] && ! is_left_out || return 0
	for host in host-a host-b; do
		ip netns add $host || exit 1
		ip netns exec $host unshare --mount bash -c \
			'mount -t tmpfs tmpfs /run && touch /run/ready && exec sleep infinity' &
		hosts[$host]=$!
	done
	ip -n host-a link add eth0 type veth peer name eth0 netns host-b
	for host in host-a host-b; do
		ip -n $host link set lo up
		ip -n $host link set eth0 up
	done
	ip -n host-a address add 192.0.2.1/24 dev eth0
	ip -n host-b address add 192.0.2.2/24 dev eth0
	echo "192.0.2.1 host-a" >>/etc/hosts
	for host in host-a host-b; do
		until enter_host $host test -e /run/ready 2>/dev/null; do
			sleep 0.1 # between two polls
		done
	done
}

# writes_fragment NUMBER HEADER: program.c, of a fragment of C in doc/guide/programming.md.
writes_fragment() {
	[ -z "$is_check" ] && ! is_left_out || return 0
	{
		printf '#include <%s>\n' stdint.h stdio.h string.h "$2"
		echo "char buffer[4096]; uint64_t remote_address; uint32_t remote_key;"
		echo "int main(void) {"
		awk -v number="$1" '/^```c$/ { if (++count == number) { is_in = 1; next } }
			/^```$/ { is_in = 0 } is_in' "$top/doc/guide/programming.md"
		echo "return 0; }"
	} >program.c
}

ends() {
	end_page
	check_no_page_is_forgotten
	echo "${#read_pages[@]} pages: $all_commands commands, $faults faults"
	[ $faults -eq 0 ]
	exit
}
