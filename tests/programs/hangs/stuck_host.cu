// SPDX-License-Identifier: Apache-2.0
//
// Deadlocks in which locks, pipes and processes have a part, with the GPU or beside it. stuck_host CASE; what is wrong in each is said in table.py.
#include "hangs.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>

static cudaStream_t s;
static volatile int *pinned;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static bool done;

__global__ void wait_flag(volatile int *flag)
{
	while (!*flag)
		__nanosleep(1000);
}

static void start_cuda(void)
{
	cudaFuncAttributes a;

	CHECK(cudaHostAlloc((void **)&pinned, 64 * sizeof(int), cudaHostAllocMapped));
	memset((void *)pinned, 0, 64 * sizeof(int));
	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	CHECK(cudaFuncGetAttributes(&a, wait_flag));
	CHECK(cudaDeviceSynchronize());
}

static void wait_for_the_gpu(void)
{
	wait_flag<<<1, 32, 0, s>>>(pinned);
	CHECK(cudaStreamSynchronize(s));
}

static void *second_then_first(void *arg)
{
	pthread_mutex_lock(&second);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&first);
	return NULL;
}

static void mutexes_in_opposite_orders(void)
{
	pthread_t t;

	start_cuda();
	pthread_create(&t, NULL, second_then_first, NULL);
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&both);
	ready();
	pthread_mutex_lock(&second);
}

static void *holds_mutex(void *arg)
{
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&both);
	wait_for_the_gpu();
	return NULL;
}

static void mutex_of_a_thread_that_waits_for_the_gpu(void)
{
	pthread_t t;

	start_cuda();
	pthread_create(&t, NULL, holds_mutex, NULL);
	pthread_barrier_wait(&both);
	ready();
	pthread_mutex_lock(&first);
	pinned[0] = 1;
}

static void *writes_table(void *arg)
{
	pthread_rwlock_wrlock(&table);
	pthread_barrier_wait(&both);
	wait_for_the_gpu();
	return NULL;
}

static void lock_of_a_writer_that_waits_for_the_gpu(void)
{
	pthread_t t;

	start_cuda();
	pthread_create(&t, NULL, writes_table, NULL);
	pthread_barrier_wait(&both);
	ready();
	pthread_rwlock_rdlock(&table);
	pinned[0] = 1;
}

static void *producer(void *arg)
{
	CHECK(cudaSetDevice(0)); // the thread has a context now
	wait_value(s, &pinned[0], 1);
	CHECK(cudaStreamSynchronize(s));
	pthread_mutex_lock(&first);
	done = true;
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&first);
	return NULL;
}

static void condition_of_a_thread_that_waits_for_the_gpu(void)
{
	pthread_t t;

	start_cuda();
	pthread_create(&t, NULL, producer, NULL);
	usleep(100000);
	ready();
	pthread_mutex_lock(&first);
	while (!done)
		pthread_cond_wait(&condition, &first);
	pinned[0] = 1;
}

static void two_pipes(int down[2], int up[2])
{
	if (pipe(down) || pipe(up))
		exit(3);
}

static void pipes_both_read(void)
{
	int down[2], up[2];
	char x;

	two_pipes(down, up);
	hang_child("read_and_answer", down[0], up[1]);
	close(down[0]);
	close(up[1]);
	start_cuda();
	usleep(300000);
	ready();
	if (read(up[0], &x, 1) == 1 && write(down[1], &x, 1) == 1) // the child waits for the question
		printf("answered\n");
}

static void pipe_full(void)
{
	int down[2], up[2], status;
	pid_t pid;

	two_pipes(down, up);
	pid = hang_child("write_much", down[0], up[1]);
	close(up[1]);
	start_cuda();
	usleep(300000);
	ready();
	waitpid(pid, &status, 0); // reads what the child has written afterwards
}

static void socket_of_a_child_that_waits_for_the_gpu(void)
{
	int ends[2];
	char x;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(3);
	hang_child("gpu_then_answer", ends[1], ends[1]);
	close(ends[1]);
	start_cuda();
	usleep(1000000);
	ready();
	if (read(ends[0], &x, 1) == 1)
		printf("answered\n");
}

static void child_that_waits_for_the_gpu(void)
{
	int down[2], up[2], status;
	pid_t pid;

	two_pipes(down, up);
	pid = hang_child("gpu_then_end", down[0], up[1]);
	usleep(1000000);
	ready();
	waitpid(pid, &status, 0);
}

// The child has the lock and waits for a word from its parent.
static void file_lock(void)
{
	int down[2], up[2];
	char name[] = "/tmp/hangs-XXXXXX", x;
	const int fd = mkstemp(name);

	two_pipes(down, up);
	if (fd < 0)
		exit(3);
	hang_child(name, down[0], up[1]);
	close(down[0]);
	start_cuda();
	if (read(up[0], &x, 1) != 1) // the child has the lock now
		exit(3);
	unlink(name);
	ready();
	flock(fd, LOCK_EX);
	if (write(down[1], &x, 1) != 1)
		exit(3);
}

/* --- children --- */

static void read_and_answer(int in, int out)
{
	char x;

	if (read(in, &x, 1) == 1 && write(out, &x, 1) == 1)
		return;
}

static void write_much(int in, int out)
{
	static char much[1 << 20];

	if (write(out, much, sizeof(much)) < 0)
		return;
}

static void gpu_then_answer(int in, int out)
{
	char x = 1;

	start_cuda();
	wait_for_the_gpu();
	if (write(out, &x, 1) != 1)
		return;
}

static void lock_and_read(const char *name, int in, int out)
{
	const int fd = open(name, O_RDWR); // an open file of its own: its own lock
	char x = 0;

	if (fd < 0 || flock(fd, LOCK_EX) || write(out, &x, 1) != 1)
		exit(3);
	if (read(in, &x, 1) == 1)
		exit(0);
}

static int child(const char *role, int in, int out)
{
	hang_limit();
	if (!strcmp(role, "read_and_answer")) {
		read_and_answer(in, out);
	} else if (!strcmp(role, "write_much")) {
		write_much(in, out);
	} else if (!strncmp(role, "gpu_then_", 9)) {
		gpu_then_answer(in, out);
	} else {
		lock_and_read(role, in, out);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct hang_case all[] = {{"mutexes_in_opposite_orders", mutexes_in_opposite_orders},
		{"mutex_of_a_thread_that_waits_for_the_gpu", mutex_of_a_thread_that_waits_for_the_gpu},
		{"lock_of_a_writer_that_waits_for_the_gpu", lock_of_a_writer_that_waits_for_the_gpu},
		{"condition_of_a_thread_that_waits_for_the_gpu", condition_of_a_thread_that_waits_for_the_gpu},
		{"pipes_both_read", pipes_both_read}, {"pipe_full", pipe_full},
		{"socket_of_a_child_that_waits_for_the_gpu", socket_of_a_child_that_waits_for_the_gpu},
		{"child_that_waits_for_the_gpu", child_that_waits_for_the_gpu}, {"file_lock", file_lock}};

	if (argc > 3)
		return child(argv[1], atoi(argv[2]), atoi(argv[3]));
	pthread_barrier_init(&both, NULL, 2);
	return hang_run(all, sizeof(all) / sizeof(*all), argc > 1 ? argv[1] : "");
}
