import { useState } from "react";

interface Props { title: string }

/** A panel that folds. */
export function Panel({ title }: Props): JSX.Element {
  const [open, setOpen] = useState<boolean>(false);
  const toggle = () => { setOpen(!open); };
  return <section onClick={toggle}><h1>{title}</h1></section>;
}
