import React from "react";

// Shows one price.
export const Price = ({ value, currency = "EUR" }) => (
  <span className="price" onClick={() => copy(value)}>{format(value)}</span>
);

function List(props) {
  return <ul>{props.items.map((item) => <Price key={item.id} value={item.price} />)}</ul>;
}

export default List;
