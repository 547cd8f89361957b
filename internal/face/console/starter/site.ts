// Each page calls inject with the values that plugin.json declares. It returns a function that undoes it.
export function inject({ config }: { config: { text: string; color: string } }) {
	const banner = document.createElement("div");
	banner.textContent = config.text;
	banner.style.cssText = "padding:16px;text-align:center;color:#fff;font:16px sans-serif";
	banner.style.background = config.color;
	document.body.prepend(banner);
	return () => banner.remove();
}
