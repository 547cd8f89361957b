// The loader: the one script that the pages of a site have. It reads the site's manifest and
// runs the apps named there. Whatever goes wrong in here, the page goes on. `go generate` compiles it.

interface Manifest { site: string; revision: number; sample: number; apps: App[] }
interface App { id: number; name: string; version: number; url: string; integrity: string; config: object; paths: string[] }

/** What window.foyer is for the first site on the page; those of other sites are among its others. */
interface Page { site: string; revision: number; apps: Shown[]; others?: Page[] }
interface Shown { id: number; name: string; version: number; state: "loading" | "running" | "failed" | "stopped"; error: string }

/** An app on this page. Its script is loaded when it has run, or failed. It took so many ms from the loader's start to get there. */
interface Run { app: App; shown: Shown; ms: number; preloaded?: boolean; refuse?: (why?: string) => void; script?: Node; loaded?: boolean; gone?: boolean; cleanup?: () => void }

const base = "{{base}}", site = "{{site}}"; // the server writes them
const root = base + "/sites/" + site + "/";
const { nonce = "" }: any = document.currentScript || {};
let began = 0;
const page: Page = { site, revision: 0, apps: [] };
const runs: Run[] = [];

function raw(this: any, key: string) { return this[key]; } // as JSON has it, whatever methods toJSON a page has made
const own = (name: string) => window.hasOwnProperty(name) && (window as any)[name]; // no element or frame of this name
const event = (name: string) => new Promise((done) => document.addEventListener(name, done));
const after = (seconds: number) => new Promise<void>((done) => setTimeout(done, seconds * 1000));

/** Stores a text if one is given, and returns what is stored, if anything. */
function stored(storage: "localStorage" | "sessionStorage", text?: string): any {
	try {
		if (text !== undefined) window[storage].setItem("foyer:" + site, text); // in a sandbox, reading the property itself throws
		return window[storage].getItem("foyer:" + site);
	} catch {}
}

// The manifest
let kept: { at: number; manifest: Manifest } | undefined, asked = 0; // the last good one, when it was got, and when it was asked for

/** Returns a manifest if it is one, and throws if not. An app without a sum that browsers understand would run unchecked. */
function check(manifest: Manifest): Manifest {
	const isApp = ({ id, url, integrity, paths }: App) =>
		id > 0 && url.startsWith(base + "/apps/") && /^sha384-[\w+/]{64}$/.test(integrity) && paths.every((path) => path.startsWith);
	if (manifest.site !== site || typeof manifest.revision !== "number" || !manifest.apps.every(isApp)) throw 0;
	return manifest;
}

async function ask(query = ""): Promise<Manifest> {
	const answer = async () => {
		const response = await window.fetch(root + "manifest.json" + query, { cache: "no-cache", credentials: "omit" });
		const body = await response.json();
		if (response.status !== 404 || body.code !== "not_found") return response.ok && body; // a proxy's 404 is not foyer's
		// A preview is over: check refuses that. A site is not there: it has no apps.
		return query ? (preview = stored("sessionStorage", "")) : { site, revision: kept ? kept.manifest.revision : 0, apps: [] };
	};
	return check(await Promise.race([answer(), after(3)]));
}

/** The manifest to go by: the server's, or the kept one while the server is down or a moment behind another server. A preview has no other. */
async function latest(): Promise<Manifest | undefined> {
	asked = Date.now();
	try {
		if (preview) return await ask("?preview=" + preview);
	} catch {}
	if (preview) return;
	const isYounger = (seconds: number) => kept && Math.abs(Date.now() - kept.at) < seconds * 1000;
	try {
		const manifest = await ask();
		if (!isYounger(60) || manifest.revision >= kept!.manifest.revision) {
			kept = { at: Date.now(), manifest };
			stored("localStorage", ""); // where there is no room for this one, no older one is left
			stored("localStorage", JSON.stringify(kept, raw));
		}
	} catch {}
	if (isYounger(7 * 86400)) return kept!.manifest;
}

/** Whether a glob matches a path, in time proportional to the length of each. */
function matches(glob: string, path: string): boolean {
	if (glob.endsWith("/**")) path += "/"; // so that /shop/** matches /shop
	let reached = [true]; // at i: the part of the glob that is read matches the first i characters of the path
	for (const token of glob.match(/\*\*(\/\*\*)*$|\*+|[^]/g) || []) {
		const next: boolean[] = [];
		for (let i = 0; i <= path.length; i++) {
			const last = path[i - 1];
			next[i] = token[0] === "*" ? reached[i] || (next[i - 1] && (token[1] || last !== "/")) : last === token && reached[i - 1];
		}
		reached = next;
	}
	return reached[path.length];
}

function isHere({ paths }: App): boolean {
	let here = !paths.length || paths[0][0] === "!"; // whether it runs where no glob matches
	for (const glob of paths) if (matches(glob.replace(/^!/, ""), location.pathname)) here = glob[0] !== "!";
	return here;
}

// The apps
let policy = { createScriptURL: (url: string) => url };
try {
	policy = (window as any).trustedTypes.createPolicy("foyer", policy);
} catch {}

function add(element: string, { integrity }: App, how: object): any {
	return document.querySelector("head")!.appendChild(Object.assign(document.createElement(element), { crossOrigin: "", integrity, nonce }, how));
}

/** Runs an app's script, and returns its module. WebKit checks the sums of scripts, and none in modulepreload or import(). */
function load(run: Run) {
	return new Promise<any>((done, refuse) => {
		run.refuse = refuse;
		after(10).then(() => refuse("The bundle takes over 10 s."));
		const onload = () => {
			run.loaded = true;
			import(run.app.url).then(done, refuse); // which waits for ever for a module that exports a function "then"
		};
		run.script = add("script", run.app, { type: "module", src: policy.createScriptURL(run.app.url), onload, onerror: () => refuse("The bundle is refused.") });
	});
}

/** Starts an app; what its inject returns is not waited for. */
async function start(run: Run) {
	const { app, shown } = run;
	try {
		const { inject } = await load(run);
		if (shown.state !== "loading") return; // stopped, or failed where import() does not tell
		settle(run, typeof inject === "function" && inject({
			config: app.config, posthog: own("posthog") || standIn(app),
			foyer: { site, app: app.id, version: app.version, nonce, report: (error: unknown) => void note(run, error) },
		}));
	} catch (error) {
		if (shown.state === "loading") fail(run, error);
	}
}

async function settle(run: Run, result: unknown) {
	after(10).then(() => run.shown.state === "loading" && fail(run, "inject takes over 10 s."));
	try {
		const cleanup = await result;
		if (typeof cleanup === "function") run.cleanup = cleanup as () => void;
		become(run, "running");
	} catch (error) {
		fail(run, error);
	}
	if (run.gone) undo(run);
}

/** For pages without posthog: apps written for it run there too. */
function standIn(app: App): object {
	const capture = (event: string, properties: object) =>
		void dispatchEvent(new CustomEvent("foyer:capture", { detail: { app: app.id, event, properties } }));
	return new Proxy({}, { get: (_, key) => (key === "capture" ? capture : key === "then" ? undefined : () => {}) }); // with "then" it were a promise
}

function become(run: Run, state: Shown["state"], error = "") {
	run.ms = Date.now() - began;
	if (!run.loaded && run.script) new window.Document().append(run.script); // where it never runs
	Object.assign(run.shown, { state, error });
	tellReady();
}

function fail(run: Run, error: unknown, line?: number, column?: number) {
	become(run, "failed", note(run, error, line, column));
	try {
		console.error("foyer:", run.app.name, error); // a page may have one that throws, or none
	} catch {}
}

/** Takes out of the page what an app has put there, as far as it said how. */
async function undo(run: Run) {
	run.gone = true;
	const { cleanup } = run;
	const styles = document.querySelectorAll(`[data-foyer="${run.app.url}"]`);
	styles.forEach((style) => style.remove());
	run.cleanup = undefined;
	if (!run.loaded || cleanup || styles.length) become(run, "stopped");
	try {
		if (cleanup) await cleanup();
	} catch (error) {
		note(run, error);
	}
}

async function refresh() {
	if (Math.abs(Date.now() - asked) < 5_000) return; // a cache may have had the manifest for 10 s then
	const manifest = await latest();
	if (!manifest) return;
	page.revision = manifest.revision;
	for (const run of runs) {
		const app = manifest.apps.find((app) => app.id === run.app.id);
		if (!app) undo(run); // of another version: unless this one is withdrawn, it runs on until the next load
		else if (app.version !== run.app.version) window.fetch(run.app.url + "?now", { method: "HEAD" }).then(({ status }) => status === 410 && undo(run)).catch(() => {});
	}
}

// What the server is told
let faults: object[] = [], sample = 0, ready = false, beacons = 0; // sample: the manifest's; 0: this page tells nothing

/** Keeps an error for the beacon, and returns its text. An error may be any value, even one that throws when it is looked at. */
function note({ app }: Run, error: any, line = 0, column = 0): string {
	let name = "Error", message = "?";
	try {
		message = String((error && error.message) || error).slice(0, 300);
		name = String(error.name || name).slice(0, 300);
		if (!line) [line, column] = String(error.stack).split(app.url + ":")[1].split(":").map((n) => parseInt(n) || 0);
	} catch {}
	if (faults.length < 9) faults.push({ id: app.id, version: app.version, name, message, line, column });
	return message;
}

/** Sends once how the apps fare, and once more, when the page is left, what has failed since. */
async function beacon() {
	if (!sample || !runs.length || beacons > 1 || (beacons && !faults.length)) return;
	const apps = beacons++ ? [] : runs.map(({ app, shown, ms }) => ({ id: app.id, version: app.version, state: shown.state, ms }));
	let body = "";
	while (new Blob([(body = JSON.stringify({ revision: page.revision, sample, apps, errors: faults }, raw))]).size > 8192)
		faults.pop() || apps.splice(Math.random() * apps.length, 1); // other apps in each report
	faults = [];
	await window.fetch(root + "beacon", { method: "POST", body, keepalive: true, credentials: "omit" });
}

function tellReady() {
	if (ready || runs.some((run) => run.shown.state === "loading")) return;
	ready = true;
	dispatchEvent(new CustomEvent("foyer:ready", { detail: page }));
	if (!beacons) beacon().catch(() => {});
}

// Preview
let preview = "";

/** Takes the preview out of the address before an app sees it; it is this tab's from now on. Another site's loader may have taken it out before. */
function takePreview() {
	const [, token] = /[?&]foyer_preview=(\w{0,26})/.exec(location + " " + window.performance.getEntriesByType("navigation").map(({ name }) => name)) || [];
	preview = stored("sessionStorage", token) || token;
	if (token) window.history.replaceState(window.history.state, "", location.href.replace(/([?&])(?:foyer_preview=[^&#]*(&?))+/g, (_, mark, more) => more && mark));
}

/** Stays until the page is loaded again, as what the preview has run does. The page may have put the preview back into its address. */
function showBar() {
	const style = "all:initial;position:fixed;inset:auto 0 0;z-index:999999999;padding:8px;background:#000;color:#fff;font:menu";
	const bar = Object.assign(document.createElement("div"), { textContent: "foyer preview ", style });
	bar.append(Object.assign(document.createElement("button"), { textContent: "End it", onclick: () => (takePreview(), stored("sessionStorage", ""), location.reload()) }));
	document.body.append(bar);
}

// The page
/** Makes this loader known to the page, unless its site is there already. */
function enter(): unknown {
	const first: Page | undefined = own("foyer");
	if (!first || !first.apps) return ((window as any).foyer = page);
	const others = (first.others = first.others || []);
	return first.site !== site && others.every((other) => other.site !== site) && others.push(page);
}

function watch() {
	addEventListener("error", ({ filename, error, message, lineno, colno }) => {
		const run = runs.find(({ app }) => app.url === filename);
		if (run) (run.loaded ? note : fail)(run, error || message, lineno, colno);
		if (run && run.refuse) run.refuse(); // WebKit tells nothing else of a script that it cannot parse
	});
	addEventListener("pagehide", () => beacon().catch(() => {}));
	addEventListener("pageshow", (event) => event.persisted && refresh());
	document.addEventListener("visibilitychange", () => document.hidden || refresh());
	setInterval(refresh, 280_000); // plus the 10 s for which a cache may have the manifest: within 5 minutes of a change
}

async function main() {
	if (!enter()) return;
	if ((document as any).prerendering) await event("prerenderingchange"); // nobody may ever see this page; what it stores now is lost
	try {
		takePreview();
		const was = JSON.parse(stored("localStorage"));
		if (check(was.manifest)) kept = was;
	} catch {}
	began = Date.now();
	watch();
	const manifest = await latest();
	if (manifest) {
		page.revision = manifest.revision;
		if (!preview && !location.pathname.endsWith(site + "/try") && Math.random() < manifest.sample) sample = manifest.sample;
		for (const app of manifest.apps.filter(isHere)) {
			const shown: Shown = { id: app.id, name: app.name, version: app.version, state: "loading", error: "" };
			const run: Run = { app, shown, ms: 0 };
			app.url = add("link", app, { rel: "modulepreload", href: app.url, onload: () => (run.preloaded = true) }).href; // as errors and import.meta.url have it
			runs.push(run);
			page.apps.push(shown);
		}
	}
	const late = after(1);
	if (document.readyState !== "complete" && !window.performance.timing.domContentLoadedEventStart) await event("DOMContentLoaded"); // as modules do
	if (preview) showBar();
	for (const run of runs) {
		const started = !run.gone && start(run);
		await Promise.race([started, late.then((): unknown => run.preloaded && started)]);
	}
	tellReady();
}
main().catch(() => {});
