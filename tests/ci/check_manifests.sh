#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# check_manifests.sh: the Kubernetes manifests of tools/containers have every key that they must
# have and none that does not exist, and a fault that is put there is found. Exit status 77 where
# npm cannot bring the schemas.
set -u

here=$(cd "$(dirname "$0")" && pwd)
manifests=("$here"/../../tools/containers/kubernetes/*.yaml)
modules=$("$here/npm_packages.sh" yaml@2.8.1 kubernetes-models@5.1.0 typescript@5.9.3) || {
	status=$?
	echo "$modules"
	exit $status
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$modules" || exit 1
node "$here/manifest_faults.mjs" "${manifests[@]}" || exit 1

# finds SED-SCRIPT PATTERN: in the manifest of the daemon.
finds() {
	sed "$1" "$here/../../tools/containers/kubernetes/rnicd.yaml" >"$work/wrong.yaml"
	if node "$here/manifest_faults.mjs" "$work/wrong.yaml" >"$work/output" ||
		! grep -q "$2" "$work/output"; then
		echo "FAIL  a fault is not found: $2"
		exit 1
	fi
}
finds 's/readOnlyRootFilesystem/readOnlyRoot/' '"readOnlyRoot"'
finds '/selector:/,/kubernetes.io\/name/d' "required property selector"
