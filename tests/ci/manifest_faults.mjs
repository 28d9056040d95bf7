// SPDX-License-Identifier: MIT
//
// node manifest_faults.mjs FILE...: prints what is wrong with Kubernetes manifests, and ends with 1
// then. Run it where the packages yaml, kubernetes-models and typescript are installed. The schemas
// of kubernetes-models know which keys must be there and their types; TypeScript knows from the same
// package which keys there are. An image of others must have a version: another one may come any day.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const here = createRequire(`${process.cwd()}/`);
const { parseAllDocuments } = here('yaml');
const typescript = here('typescript');
const faults = [];

// The source of a program that declares the object as one of its kind.
function declaration(object) {
	const { apiVersion, kind } = object;
	return `import { I${kind} } from "kubernetes-models/${apiVersion}/${kind}";\n` +
		`export const manifest: I${kind} = ${JSON.stringify(object)};\n`;
}

function unknownKeys(object) {
	const name = `${process.cwd()}/manifest.ts`;
	const options = {
		noEmit: true, skipLibCheck: true, strict: true,
		module: typescript.ModuleKind.NodeNext, target: typescript.ScriptTarget.ES2022,
	};
	const host = typescript.createCompilerHost(options);
	const { getSourceFile, fileExists, readFile } = host;
	const text = declaration(object);
	host.fileExists = (file) => file === name || fileExists(file);
	host.readFile = (file) => file === name ? text : readFile(file);
	host.getSourceFile = (file, ...rest) => file === name
		? typescript.createSourceFile(file, text, options.target)
		: getSourceFile.call(host, file, ...rest);
	const program = typescript.createProgram([name], options, host);
	return typescript.getPreEmitDiagnostics(program)
		.map((one) => typescript.flattenDiagnosticMessageText(one.messageText, ' '));
}

// Every image in the object, at any depth; IMAGE is what the reader builds.
function imagesOf(value) {
	if (value === null || typeof value !== 'object') return [];
	const own = typeof value.image === 'string' ? [value.image] : [];
	return own.concat(...Object.values(value).map(imagesOf));
}

function hasVersion(image) {
	return image === 'IMAGE' || (/[:@][^/]+$/.test(image) && !image.endsWith(':latest'));
}

async function check(file, object) {
	const { apiVersion, kind } = object ?? {};
	const complain = (text) => faults.push(`${file}: ${kind}: ${text}`);
	try {
		const models = `${process.cwd()}/node_modules/kubernetes-models`;
		const module = await import(pathToFileURL(`${models}/${apiVersion}/${kind}.js`));
		new module[kind](object).validate();
	} catch (error) {
		complain(error.message);
		return;
	}
	unknownKeys(object).forEach(complain);
	for (const image of imagesOf(object))
		if (!hasVersion(image)) complain(`the image ${image} has no version`);
}

for (const file of process.argv.slice(2)) {
	const documents = parseAllDocuments(readFileSync(file, 'utf8'));
	if (documents.length === 0) faults.push(`${file}: there is no manifest in it`);
	for (const document of documents) {
		for (const error of document.errors) faults.push(`${file}: ${error.message}`);
		if (document.errors.length === 0) await check(file, document.toJS());
	}
}
if (process.argv.length === 2) faults.push('no file is named');
for (const fault of faults) console.log(fault);
console.log(`${process.argv.length - 2} files, ${faults.length} faults`);
process.exit(faults.length ? 1 : 0);
