/* SPDX-License-Identifier: MIT */
/* checks.c - the table of checks. */
#include "tools/doctor/doctor.h"

const struct doctor_check doctor_checks[] = {
#define X(name, function) { name, doctor_judge_##function },
#include "tools/doctor/doctor.def"
#undef X
};
const unsigned doctor_n_checks = sizeof(doctor_checks) / sizeof(doctor_checks[0]);
