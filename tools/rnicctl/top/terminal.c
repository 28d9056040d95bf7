/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/top/terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* The control sequences of ECMA-48 and xterm, which all terminals of today have. */
static const char enter_screen[] = "\033[?1049h\033[?25l\033[2J";
static const char leave_screen[] = "\033[?25h\033[?1049l";

static const int signals_taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};

bool terminal_write(const char *bytes, size_t count)
{
	while (count > 0) {
		ssize_t written = write(STDOUT_FILENO, bytes, count);
		if (written < 0 && errno != EINTR)
			return false;
		if (written > 0) {
			bytes += written;
			count -= (size_t)written;
		}
	}
	return true;
}

static void terminal_enter(const struct terminal *terminal)
{
	struct termios raw = terminal->before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	terminal_write(enter_screen, strlen(enter_screen));
}

static void terminal_leave(const struct terminal *terminal)
{
	terminal_write(leave_screen, strlen(leave_screen));
	tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->before);
}

static bool can_draw(void)
{
	const char *term = getenv("TERM");

	return term && term[0] && strcmp(term, "dumb") != 0 && isatty(STDOUT_FILENO);
}

int terminal_open(struct terminal *terminal)
{
	sigset_t taken;

	*terminal = (struct terminal){.signal_fd = -1};
	if (!can_draw() || tcgetattr(STDIN_FILENO, &terminal->before) != 0)
		return -ENOTTY;
	sigemptyset(&taken);
	for (size_t i = 0; i < sizeof(signals_taken) / sizeof(signals_taken[0]); i++)
		sigaddset(&taken, signals_taken[i]);
	terminal->signal_fd = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
	if (terminal->signal_fd < 0)
		return -errno;
	sigprocmask(SIG_BLOCK, &taken, &terminal->mask_before);
	terminal_enter(terminal);
	return 0;
}

void terminal_close(struct terminal *terminal)
{
	terminal_leave(terminal);
	close(terminal->signal_fd);
	sigprocmask(SIG_SETMASK, &terminal->mask_before, NULL);
}

void terminal_size(size_t *rows, size_t *columns)
{
	struct winsize size;
	bool is_known =
		ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;

	*rows = is_known ? size.ws_row : 24;
	*columns = is_known ? size.ws_col : 80;
}

/* ---- events ---- */

static int signal_event(struct terminal *terminal)
{
	struct signalfd_siginfo info;

	if (read(terminal->signal_fd, &info, sizeof(info)) != sizeof(info))
		return TERMINAL_NOTHING;
	switch (info.ssi_signo) {
	case SIGTSTP:
		terminal_leave(terminal);
		raise(SIGSTOP); /* SIGCONT follows */
		return TERMINAL_REDRAW;
	case SIGCONT: /* the shell may have set the terminal for itself */
		terminal_enter(terminal);
		return TERMINAL_REDRAW;
	case SIGWINCH:
		return TERMINAL_REDRAW;
	default:
		terminal->ended_by = (int)info.ssi_signo;
		return TERMINAL_CLOSED;
	}
}

/* What terminals send for keys without a character, behind ESC [ or ESC O. */
static int sequence_event(const char *sequence)
{
	static const struct {
		const char *sequence;
		enum terminal_event event;
	} keys[] = {
		{"A", TERMINAL_UP},    {"B", TERMINAL_DOWN},	 {"C", TERMINAL_RIGHT},
		{"D", TERMINAL_LEFT},  {"H", TERMINAL_HOME},	 {"F", TERMINAL_END},
		{"1~", TERMINAL_HOME}, {"4~", TERMINAL_END},	 {"7~", TERMINAL_HOME},
		{"8~", TERMINAL_END},  {"5~", TERMINAL_PAGE_UP}, {"6~", TERMINAL_PAGE_DOWN},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(sequence, keys[i].sequence) == 0)
			return keys[i].event;
	return TERMINAL_UNKNOWN;
}

static bool is_final(char character)
{
	return character >= '@' && character <= '~';
}

static int key_event(struct terminal *terminal)
{
	const char *keys = terminal->keys + terminal->keys_taken;
	size_t left = terminal->key_count - terminal->keys_taken;
	char sequence[8] = "";
	size_t end = 2;

	if (left < 2 || keys[0] != '\033' || (keys[1] != '[' && keys[1] != 'O')) {
		terminal->keys_taken++;
		return (unsigned char)keys[0];
	}
	while (end < left && !is_final(keys[end]))
		end++;
	end = end < left ? end + 1 : left;
	if (end - 2 < sizeof(sequence))
		memcpy(sequence, keys + 2, end - 2);
	terminal->keys_taken += end;
	return sequence_event(sequence);
}

int terminal_wait(struct terminal *terminal, int timeout_ms)
{
	struct pollfd waits[] = {{STDIN_FILENO, POLLIN, 0}, {terminal->signal_fd, POLLIN, 0}};
	ssize_t got;

	if (terminal->keys_taken < terminal->key_count)
		return key_event(terminal);
	if (poll(waits, 2, timeout_ms) <= 0)
		return TERMINAL_NOTHING;
	if (waits[1].revents)
		return signal_event(terminal);
	got = read(STDIN_FILENO, terminal->keys, sizeof(terminal->keys));
	if (got <= 0)
		return got < 0 && errno == EINTR ? TERMINAL_NOTHING : TERMINAL_CLOSED;
	terminal->key_count = (size_t)got;
	terminal->keys_taken = 0;
	return key_event(terminal);
}
