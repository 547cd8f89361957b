// A greeting at the foot of the page. Everything an app needs is here: it exports inject,
// takes its values from config, and returns what undoes it.

interface Config { greeting: string; color: string }

export function inject({ config }: { config: Config }) {
	const line = document.createElement("p");
	line.textContent = config.greeting;
	line.style.cssText = "position:fixed;inset:auto 0 0;margin:0;padding:12px;text-align:center;color:#fff;font:16px sans-serif";
	line.style.background = config.color;
	document.body.append(line);
	return () => line.remove();
}
