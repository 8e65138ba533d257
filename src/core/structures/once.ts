/**
 * Computes something of an object once, and keeps it with the object for as long as that lives. Not in a
 * WeakMap: the garbage collector looks at every entry of one while the program is halted, and there may be
 * ten thousand. A copy (`{ ...of }`) computes its own. Not for what is frozen.
 */
export function once<Of extends object, Made extends {} | null>(make: (of: Of) => Made): (of: Of) => Made {
  const kept = Symbol();
  return (of) => {
    const known = (of as { [kept]?: Made })[kept];
    if (known !== undefined) return known;
    const made = make(of);
    Object.defineProperty(of, kept, { value: made });
    return made;
  };
}
