// Drives a server with a client that is made from its own OpenAPI document, type-checked strictly.
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const [base, key] = process.argv.slice(2) as [string, string];
const api = createClient<paths>({ baseUrl: base, headers: { Authorization: `Bearer ${key}` } });

/** called are the operations that were called. */
const called = new Set<string>();
api.use({
	onRequest: ({ request, schemaPath }) => {
		called.add(`${request.method} ${schemaPath}`);
	},
});

const current = { organization_id: "@current" } as const;
const organizations = "/api/organizations/{organization_id}";

/** ok returns the answer of a call that must succeed. */
async function ok<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
	const { data, error, response } = await call;
	if (!response.ok) throw new Error(`${response.url}: ${response.status} ${JSON.stringify(error)}`);
	return data as T;
}

/** refused returns the error of a call that must fail. */
async function refused<E>(status: number, call: Promise<{ error?: E; response: Response }>): Promise<NonNullable<E>> {
	const { error, response } = await call;
	if (response.status !== status || error === undefined) throw new Error(`${response.url}: ${response.status}; want ${status}`);
	return error as NonNullable<E>;
}

function check(holds: boolean, what: string): void {
	if (!holds) throw new Error(what);
}

async function driveApps(): Promise<number> {
	const path = current;
	const source = { "site.ts": "export const inject = () => 1;" };
	const app = await ok(api.POST(`${organizations}/pipeline_frontend_apps`, { params: { path }, body: { plugin_type: "source", name: "Typed", source } }));
	const at = { params: { path: { ...current, id: app.id } } };
	const one = `${organizations}/pipeline_frontend_apps/{id}` as const;
	const list = await ok(api.GET(`${organizations}/pipeline_frontend_apps`, { params: { path, query: { limit: 10, search: "typed" } } }));
	check(list.count === 1 && list.results[0]?.name === "Typed", "the app is not found");
	check((await ok(api.PATCH(one, { ...at, body: { description: "by a client" } }))).description === "by a client", "it is not changed");
	const edited = await ok(api.PATCH(`${one}/update_source`, { ...at, body: { source: { "site.ts": "export const =" } } }));
	check(edited.source_files[0]?.line === 1, "the error has no place");
	check((await ok(api.GET(`${one}/source`, at))).bundle !== null, "the last bundle is gone");
	check((await ok(api.GET(`${one}/versions`, at))).count === 2, "there are not two versions");
	const compared = { params: { path: { ...current, id: app.id, version: 2 } } };
	check((await ok(api.GET(`${one}/versions/{version}/diff`, compared))).files.length === 1, "there is no difference");
	await ok(api.POST(`${one}/upgrade`, { ...at, body: { version: 1 } }));
	await ok(api.POST(`${one}/disable`, { ...at, body: { reason: "a test" } }));
	await ok(api.POST(`${one}/enable`, at));
	await ok(api.GET(`${one}/health`, at));
	check((await ok(api.GET(one, at))).name === "Typed", "it is another");
	check((await ok(api.GET(`${one}/upgrade`, { params: { ...at.params, query: { version: 2 } } }))).version === 2, "the review is of another version");
	await ok(api.PATCH(`${one}/update_source`, { ...at, body: { source: { "site.ts": "export const inject = () => 2;" } } }));
	const first = { params: { path: { ...current, id: app.id, version: 1 } } };
	check((await ok(api.GET(`${one}/versions/{version}`, first))).config_schema === null, "it came with a config_schema");
	await ok(api.POST(`${one}/versions/{version}/withdraw`, { ...first, body: { reason: "a test" } }));
	check((await ok(api.POST(`${one}/versions/{version}/restore`, first))).withdrawn === null, "it is still withdrawn");
	await ok(api.GET(`${one}/check_for_updates`, at));
	await ok(api.GET(`${organizations}/pipeline_frontend_apps/repository`, { params: { path } }));
	await ok(api.GET(`${organizations}/pipeline_frontend_apps/activity`, { params: { path } }));
	await ok(api.GET(`${organizations}/pipeline_frontend_apps/unused`, { params: { path } }));
	await ok(api.GET(`${organizations}/pipeline_frontend_apps/exports_unsubscribe_configs`, { params: { path } }));
	const wrong = await refused(400, api.POST(`${organizations}/pipeline_frontend_apps`, { params: { path }, body: { name: "" } }));
	check(wrong.attr === "name", `it blames ${wrong.attr}`);
	return app.id;
}

async function driveSites(app: number): Promise<void> {
	const path = current;
	const site = await ok(api.POST(`${organizations}/sites`, { params: { path }, body: { name: "Shop" } }));
	const one = `${organizations}/sites/{id}` as const;
	const at = { params: { path: { ...current, id: site.id } } };
	const placed = { params: { path: { ...current, id: site.id, app_id: app } } };
	await ok(api.GET(`${organizations}/sites`, { params: { path } }));
	await ok(api.PATCH(one, { ...at, body: { origins: ["https://shop.example.com"] } }));
	await ok(api.POST(`${one}/apps`, { ...at, body: { app_id: app, paths: ["/**"] } }));
	check((await ok(api.PATCH(`${one}/apps/{app_id}`, { ...placed, body: { version: 1 } }))).version === 1, "it is not pinned");
	await ok(api.GET(`${one}/apps/{app_id}`, placed));
	check((await ok(api.GET(`${organizations}/pipeline_frontend_apps/{id}/sites`, { params: { path: { ...current, id: app } } }))).count === 1, "the app is on no site");
	check((await ok(api.GET(`${one}/apps`, at))).results[0]?.app_id === app, "the app is not there");
	check((await ok(api.GET(one, at))).apps_count === 1, "no app is counted");
	await ok(api.GET(`${one}/health`, at));
	await ok(api.POST(`${one}/apps/{app_id}/preview`, { ...placed, body: { url: "https://shop.example.com/" } }));
	check((await ok(api.GET(`${one}/history`, at))).count > 0, "there is no history");
	check((await ok(api.POST(`${one}/restore`, { ...at, body: { revision: 1 } }))).apps_count === 0, "it is not as it was");
	await ok(api.POST(`${one}/apps`, { ...at, body: { app_id: app } }));
	await drivePages(site.token, app);
	await ok(api.DELETE(`${one}/apps/{app_id}`, placed));
	await ok(api.DELETE(one, at));
	await refused(404, api.GET(one, at));
}

/** drivePages asks what pages ask, and what watches a server. */
async function drivePages(token: string, app: number): Promise<void> {
	const at = { params: { path: { token } } };
	const manifest = await ok(api.GET("/sites/{token}/manifest.json", at));
	const [first] = manifest.apps;
	check(manifest.apps.length === 1 && first?.id === app, "the manifest lacks the app");
	await ok(api.GET("/sites/{token}/loader.js", { ...at, parseAs: "text" }));
	await refused(404, api.GET("/sites/{token}/try", { params: { ...at.params, query: { t: "wrong" } }, parseAs: "text" }));
	await ok(api.POST("/sites/{token}/beacon", at));
	const [publicToken, file] = new URL(first!.url).pathname.split("/").slice(2) as [string, string];
	await ok(api.GET("/apps/{public_token}/{file}", { params: { path: { public_token: publicToken, file } }, parseAs: "text" }));
	await ok(api.GET("/healthz", { parseAs: "text" }));
	await ok(api.GET("/readyz", { parseAs: "text" }));
}

async function driveEvents(): Promise<void> {
	const path = current;
	const one = `${organizations}/webhooks/{id}` as const;
	const made = await ok(api.POST(`${organizations}/webhooks`, { params: { path }, body: { url: "https://hooks.example.com/x", events: ["app.*"] } }));
	check(made.secret.startsWith("whsec_"), "there is no secret");
	const at = { params: { path: { ...current, id: made.id } } };
	check((await ok(api.GET(`${organizations}/webhooks`, { params: { path } }))).count === 1, "it is not listed");
	check((await ok(api.PATCH(one, { ...at, body: { description: "typed" } }))).description === "typed", "it is not changed");
	await ok(api.POST(`${one}/rotate`, at));
	await ok(api.POST(`${one}/test`, at));
	let tried: number | undefined;
	while (tried === undefined) {
		tried = (await ok(api.GET(`${one}/deliveries`, at))).results[0]?.id;
	}
	await ok(api.POST(`${one}/deliveries/{delivery_id}/redeliver`, { params: { path: { ...at.params.path, delivery_id: tried } } }));
	check((await ok(api.GET(one, at))).enabled, "it is off");
	await ok(api.DELETE(one, at));
	const events = await ok(api.GET(`${organizations}/events`, { params: { path, query: { after: 0, limit: 1 } } }));
	if (typeof events === "string") throw new Error("a stream, which nobody asked for");
	check(events.results.length === 1, "there is not one event");
}

/** driveOneself asks for what is one's own. */
async function driveOneself(): Promise<void> {
	const nothing = "01890000-0000-7000-8000-000000000001";
	check((await ok(api.PATCH("/api/users/@me", { body: { first_name: "Grace" } }))).first_name === "Grace", "the name is not changed");
	await ok(api.GET("/api/users/@me/sessions", {}));
	await refused(404, api.GET("/api/users/@me/sessions/{id}", { params: { path: { id: 1 } } }));
	await refused(404, api.DELETE("/api/users/@me/sessions/{id}", { params: { path: { id: 1 } } }));
	await ok(api.DELETE("/api/users/@me/sessions", {}));
	await ok(api.GET("/api/users/@me/invites", {}));
	await refused(404, api.POST("/api/users/@me/invites/{id}/accept", { params: { path: { id: nothing } }, body: {} }));
	await refused(404, api.DELETE("/api/users/@me/invites/{id}", { params: { path: { id: nothing } } }));
	await refused(403, api.POST("/api/signin", { body: { email: "ada@example.com" } })); // no mail server
	await refused(404, api.DELETE(`${organizations}/keys/{id}`, { params: { path: { ...current, id: 99 } } }));
	await ok(api.GET(`${organizations}/keys`, { params: { path: current } }));
	await ok(api.GET(organizations, { params: { path: current } }));
	await ok(api.GET(`${organizations}/overview`, { params: { path: current } }));
}

/** checkCalled fails unless each operation of the document was called. */
async function checkCalled(): Promise<void> {
	const document = (await (await fetch(`${base}/openapi.json`)).json()) as { paths: Record<string, Record<string, unknown>> };
	const all = Object.entries(document.paths).flatMap(([path, item]) =>
		["get", "post", "patch", "delete"].filter((method) => method in item).map((method) => `${method.toUpperCase()} ${path}`),
	);
	const missing = all.filter((operation) => !called.has(operation));
	check(missing.length === 0, `not called: ${missing.join(", ")}`);
}

async function drivePeople(): Promise<void> {
	const path = current;
	const made = await ok(api.POST(`${organizations}/invites/bulk`, { params: { path }, body: [{ target_email: "ada@example.com", level: "admin" }, { target_email: "bob@example.com" }] }));
	if (!Array.isArray(made)) throw new Error("a list is answered with one invite");
	const [ada, bob] = made;
	if (!ada || !bob || !("id" in ada) || !("id" in bob)) throw new Error("a list is answered with what became of each");
	check(ada.level === 8, "ada would be no admin");
	const at = { params: { path: { ...current, id: ada.id } } };
	const link = await ok(api.POST(`${organizations}/invites/{id}/link`, at));
	const signup = { params: { path: { token: link.url.split("/").pop()! } } };
	check((await ok(api.GET("/api/signup/{token}", signup))).target_email === "ada@example.com", "the link is another's");
	const joined = await ok(api.POST("/api/signup/{token}", { ...signup, body: { first_name: "Ada" } }));
	await ok(api.GET(`${organizations}/invites`, { params: { path, query: { status: "any" } } }));
	await ok(api.POST(`${organizations}/invites/{id}/resend`, { params: { path: { ...current, id: bob.id } } }));
	await ok(api.DELETE(`${organizations}/invites/{id}`, { params: { path: { ...current, id: bob.id } } }));
	const carl = await ok(api.POST(`${organizations}/invites`, { params: { path }, body: { target_email: "carl@example.com" } }));
	const carls = await ok(api.POST(`${organizations}/invites/{id}/link`, { params: { path: { ...current, id: carl.id } } }));
	await ok(api.DELETE("/api/signup/{token}", { params: { path: { token: carls.url.split("/").pop()! } } }));
	const member = { params: { path: { ...current, user_uuid: joined.user.uuid } } };
	await ok(api.PATCH(`${organizations}/members/{user_uuid}`, { ...member, body: { level: 1 } }));
	check((await ok(api.GET(`${organizations}/members`, { params: { path } }))).count === 2, "ada is no member");
	check((await ok(api.GET(`${organizations}/members/{user_uuid}`, member))).level === 1, "ada is no plain member");
	await ok(api.DELETE(`${organizations}/members/{user_uuid}`, member));
	await ok(api.PATCH(organizations, { params: { path }, body: { name: "Typed" } }));
	check((await ok(api.GET("/api/organizations", {}))).results[0]?.name === "Typed", "the name is not changed");
	const extra = await ok(api.POST("/api/users/@me/keys", { body: { scopes: ["plugin:read"] } }));
	await ok(api.GET("/api/users/@me/keys", {}));
	await ok(api.DELETE("/api/users/@me/keys/{id}", { params: { path: { id: extra.id } } }));
	check((await ok(api.GET("/api/users/@me", {}))).email !== "", "nobody is there");
	await ok(api.GET(`${organizations}/activity`, { params: { path } }));
	await ok(api.GET(`${organizations}/activity/head`, { params: { path } }));
}

const app = await driveApps();
await driveSites(app);
await drivePeople();
await driveEvents();
await driveOneself();
await ok(api.DELETE(`${organizations}/pipeline_frontend_apps/{id}`, { params: { path: { ...current, id: app } } }));
await checkCalled();
