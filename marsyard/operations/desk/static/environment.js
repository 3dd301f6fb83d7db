// The tab Environment: what world is believed, and the way into its editor and out again.

const by = (id) => document.getElementById(id);

const BANNERS = {
  driving: "",
  editing: "Editing: the rover stands",
  building: "Building both worlds …",
};
const HINTS = {
  driving: "Edit the ground in 3D: rocks, craters, soft patches, soils, rover and start. The rover "
    + "must stand, and no order may be under way.",
  editing: "Choose tools in the panel of the 3D view; Save writes a scenario file. Drive here ends "
    + "the present session and begins a new one on this ground; Back goes on as before.",
  building: "The current session continues until the new one is ready.",
};

export class Environment {
  constructor(link) {
    this.mode = "driving";
    this.mine = false;
    this.canEdit = false;
    for (const [id, what] of [["edit-begin", "edit"], ["edit-drive", "drive"], ["edit-back", "back"]]) {
      by(id).onclick = () => link.send("environment", { do: what });
    }
  }

  /** What the desk says of it. */
  show({ mode, words, world, can_edit: canEdit, can_go_back: canGoBack }) {
    const began = this.mode === "driving" && mode !== "driving";
    this.mode = mode;
    this.canEdit = canEdit;
    document.body.classList.toggle("editing", mode !== "driving");
    document.body.classList.toggle("building", mode === "building");
    by("editing").textContent = BANNERS[mode];
    by("editing").hidden = mode === "driving";
    by("environment-words").textContent = words;
    by("environment-hint").textContent = canEdit ? HINTS[mode] : "";
    by("edit-begin").hidden = mode !== "driving" || !canEdit;
    by("edit-drive").hidden = mode === "driving";
    by("edit-back").hidden = mode === "driving" || !canGoBack;
    by("world").replaceChildren(...Object.entries(world).flatMap(([name, text]) => {
      const [title, about] = [document.createElement("dt"), document.createElement("dd")];
      title.textContent = name;
      about.textContent = text;
      return [title, about];
    }));
    this.control(this.mine);
    if (began) document.querySelector("[data-tab=environment]").click();
  }

  /** Whether this page has the control. */
  control(mine) {
    this.mine = mine;
    by("edit-begin").disabled = !mine;
    by("edit-drive").disabled = by("edit-back").disabled = !mine || this.mode === "building";
    by("edit-begin").title = mine ? "" : "take the control first";
  }
}
