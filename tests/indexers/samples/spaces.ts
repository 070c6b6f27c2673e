import { a } from "a";

/** Shapes of the plane. */
export namespace Geometry.Plane {
  export const LIMIT = 1000000000;
  export function area(shape: Shape): number {
    return shape.area();
  }
  export interface Shape { area(): number }
  export class Circle implements Shape {
    area() { return Math.PI; }
  }
  register(area);
  namespace Inner {
    const enum Side { Left, Right }
    export type Sides = Side[];
  }
}

declare module "geometry/plane" {
  export function read(path: string): void;
  export default read;
}

declare module "geometry/any";

module Old {
  var first = 1;
}

declare global {
  interface Window { plane: Geometry.Plane.Shape }
}
