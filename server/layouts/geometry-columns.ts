/** The geometry of a schema as it is sent: the form that the server and the console share. */

/** The drawing of a layout in columns. Numbers in columns are differences to the one before. */
export interface GeometryColumns<Shape = Drawing> {
  readonly schemaId: number;
  readonly version: number;
  /** Drawing units of one step. */
  readonly step: number;
  readonly sections: readonly {
    readonly id: number;
    readonly name: string;
    readonly type: "SECTION" | "TABLE";
  }[];
  readonly areas: readonly {
    readonly id: number;
    readonly name: string;
    readonly capacity: number | null;
  }[];
  readonly rows: {
    readonly ids: readonly number[];
    readonly names: readonly string[];
    readonly sections: readonly number[];
  };
  readonly labels: readonly string[];
  readonly seats: {
    readonly ids: readonly number[];
    readonly rows: readonly number[];
    readonly labels: readonly number[];
    readonly x: readonly number[];
    readonly y: readonly number[];
    readonly accessible: readonly number[];
  };
  readonly shapes: readonly Shape[];
}

/** A shape of the layout: the stage, an area, decoration. */
export interface Drawing {
  readonly groupOfSeatsId: number | null;
  readonly shapeType?: string;
  readonly purpose?: string;
  readonly left?: number;
  readonly top?: number;
  readonly width?: number;
  readonly height?: number;
  readonly angle?: number;
  readonly text?: string;
  readonly points?: unknown;
}
