// What runs on each page. It gets the values that plugin.json declares, and returns what undoes it.
export function inject({ config }: { config: { text: string; color: string } }) {
	const banner = document.createElement("div");
	banner.textContent = config.text;
	banner.style.cssText = "padding:16px;text-align:center;color:#fff;font:16px sans-serif";
	banner.style.background = config.color;
	document.body.prepend(banner);
	return () => banner.remove();
}
