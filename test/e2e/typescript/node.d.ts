declare const process: { argv: string[]; env: Record<string, string | undefined>; stdin: unknown; stdout: unknown };

declare module "node:fs/promises" {
	export function appendFile(file: string, text: string): Promise<void>;
	export function readFile(file: string, encoding: "utf8"): Promise<string>;
	export function readdir(folder: string): Promise<string[]>;
	export function writeFile(file: string, text: string, options: { mode: number }): Promise<void>;
}

declare module "node:readline/promises" {
	export function createInterface(of: { input: unknown; output: unknown }): { question(text: string): Promise<string>; close(): void };
}
