/* Somebody at a terminal with a shell: types, and waits for what appears on the screen.
 *
 * typist SHELL WORDS... -- STEPS...
 *
 * A step begins with what it does: `>` types the rest, `<` waits until the rest appears, after what was found before;
 * `!KEY TEXT` types the key again and again until the text appears. `^C` is Ctrl-C, `\n` the enter key. What a shell
 * shows of a command that is typed must not have what is waited for: hence the doubled quotes in the commands. */
#include "terminal.h"
#include <time.h>

enum { PATIENCE_MS = 15000, AGAIN_MS = 300 };

static char screen[65536];
static size_t shown, looked_at;

static long long now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

/* Takes keys as they are written in a step; returns how many bytes they are. */
static size_t keys_of(const char *step, size_t length, char *keys)
{
	size_t count = 0;
	for (size_t i = 0; i < length; i++) {
		if (step[i] == '^' && i + 1 < length)
			keys[count++] = step[++i] & 31;
		else if (step[i] == '\\' && i + 1 < length && step[i + 1] == 'n')
			keys[count++] = '\n', i++;
		else
			keys[count++] = step[i];
	}
	return count;
}

/* Looks at the screen until the text has appeared, or so long. */
static int appears(const char *text, long limit_ms)
{
	long long end = now_ms() + limit_ms;
	for (;;) {
		screen[shown] = 0;
		char *found = strstr(screen + looked_at, text);
		if (found) {
			looked_at = found - screen + strlen(text);
			return 1;
		}
		struct pollfd wait = { master, POLLIN, 0 };
		long left = end - now_ms();
		if (left <= 0 || poll(&wait, 1, left) != 1)
			return 0;
		ssize_t length = read(master, screen + shown, sizeof screen - 1 - shown);
		if (length <= 0)
			return 0;
		/* A zero would end the text. */
		for (ssize_t i = 0; i < length; i++)
			if (screen[shown + i] == 0)
				screen[shown + i] = '?';
		shown += length;
	}
}

static int take_step(const char *step)
{
	char keys[1024];
	const char *text = strchr(step, ' ');
	if (step[0] == '>') {
		size_t length = keys_of(step + 1, strlen(step + 1), keys);
		type_bytes(keys, length);
		return 1;
	}
	if (step[0] == '<')
		return appears(step + 1, PATIENCE_MS);
	size_t length = keys_of(step + 1, text - step - 1, keys);
	for (int i = 0; i < PATIENCE_MS / AGAIN_MS; i++) {
		type_bytes(keys, length);
		if (appears(text + 1, AGAIN_MS))
			return 1;
	}
	return 0;
}

int main(int count, char **words)
{
	int separator = 1;
	while (separator < count && strcmp(words[separator], "--"))
		separator++;
	if (separator < 2 || separator >= count)
		return 2;
	words[separator] = NULL;
	open_master();
	pid_t shell = fork();
	if (shell == 0) {
		setsid();
		open_terminal(0);
		struct winsize size = { 24, 80, 0, 0 };
		ioctl(terminal, TIOCSWINSZ, &size);
		for (int i = 0; i < 3; i++)
			dup2(terminal, i);
		close(terminal), close(master);
		setenv("PS1", "ready> ", 1);
		setenv("TERM", "dumb", 1);
		execv(words[1], words + 1);
		_exit(127);
	}
	for (int i = separator + 1; i < count; i++) {
		if (take_step(words[i])) {
			printf("%s\n", words[i]);
			continue;
		}
		printf("not: %s\n", words[i]);
		show("screen|", screen + (shown > 2000 ? shown - 2000 : 0), shown > 2000 ? 2000 : shown);
		kill(shell, SIGKILL);
		differences++;
		break;
	}
	/* The shell ends by itself, and nobody is left at the terminal. */
	while (!differences && appears("\377", 1000))
		;
	printf("status %d\n", end_of(shell));
	return done();
}
