#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# check_manifests.sh: the Kubernetes manifests of tools/packaging/containers have every key
# that they must have and none that does not exist, their images have versions, and a fault that is
# put there is found. Exit status 77 where npm cannot bring the schemas.
set -u

here=$(cd "$(dirname "$0")" && pwd)
manifests=("$here"/../../tools/packaging/containers/kubernetes/*.yaml)
modules=$("$here/npm_packages.sh" yaml@2.8.1 kubernetes-models@5.1.0 typescript@5.9.3) || {
	status=$?
	echo "$modules"
	exit $status
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$modules" || exit 1
node "$here/manifest_faults.mjs" "${manifests[@]}" || exit 1

# complains PATTERN [FILE]
complains() {
	if node "$here/manifest_faults.mjs" "${@:2}" >"$work/output" ||
		! grep -q "$1" "$work/output"; then
		echo "FAIL  a fault is not found: $1"
		exit 1
	fi
}

# finds MANIFEST SED-SCRIPT PATTERN
finds() {
	sed "$2" "$here/../../tools/packaging/containers/kubernetes/$1" >"$work/wrong.yaml"
	complains "$3" "$work/wrong.yaml"
}
finds rnicd.yaml 's/readOnlyRootFilesystem/readOnlyRoot/' '"readOnlyRoot"'
finds rnicd.yaml '/selector:/,/kubernetes.io\/name/d' "required property selector"
finds device-plugin.yaml 's/\(image: .*\):.*/\1/' "generic-device-plugin has no version"
finds device-plugin.yaml 's/\(image: .*\):.*/\1:latest/' ":latest has no version"

complains "no file is named"
: >"$work/empty.yaml"
complains "there is no manifest in it" "$work/empty.yaml"
if "$here/npm_packages.sh" >"$work/output"; then
	echo "FAIL  npm_packages.sh brings no package, and is content"
	exit 1
fi
