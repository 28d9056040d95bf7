#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# list_tests.sh BUILD: prints the tests of a build tree as ctest --show-only=json-v1 does. In the
# tree itself ctest would empty the log of the last run, also while another ctest writes that log.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo "subdirs(\"$(realpath "$1")\")" >"$folder/CTestTestfile.cmake"
ctest --test-dir "$folder" --show-only=json-v1
