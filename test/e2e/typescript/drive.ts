// Drives a server with a client made of its own OpenAPI document, type-checked strictly.
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const [base, key] = process.argv.slice(2) as [string, string];
const api = createClient<paths>({ baseUrl: base, headers: { Authorization: `Bearer ${key}` } });

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
	check((await ok(api.GET(`${one}/history`, at))).count > 0, "there is no history");
	await ok(api.DELETE(`${one}/apps/{app_id}`, placed));
	await ok(api.DELETE(one, at));
	await refused(404, api.GET(one, at));
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
	const member = { params: { path: { ...current, user_uuid: joined.user.uuid } } };
	await ok(api.PATCH(`${organizations}/members/{user_uuid}`, { ...member, body: { level: 1 } }));
	check((await ok(api.GET(`${organizations}/members`, { params: { path } }))).count === 2, "ada is no member");
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
await ok(api.DELETE(`${organizations}/pipeline_frontend_apps/{id}`, { params: { path: { ...current, id: app } } }));
