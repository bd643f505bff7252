/** Starts the console in the page. */
import { render } from "preact";
import { App } from "./views/app.tsx";

render(<App />, document.querySelector("#root")!);
