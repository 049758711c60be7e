// JSON whose numbers stay as they are written. Documents are their users': an order's number of twenty digits or a price is shown
// and copied digit by digit, where JSON.parse would round it.

// Stands before the digits while they are a text. It is drawn anew in each page, so that no document can have it in it.
const mark = Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-') + ':'

// A number that JavaScript's would write otherwise. Where a number is wanted it is the nearest one.
export class Exact {
  constructor(digits) {
    this.digits = digits
  }

  toString() {
    return this.digits
  }

  valueOf() {
    return Number(this.digits)
  }

  toJSON() {
    return mark + this.digits
  }
}

// What matters of JSON: where texts begin and end, and numbers. One piece at a time, as a pattern of whole texts may run out of stack.
const pieces = /\\.|"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g

// parse(text): as JSON.parse, with an Exact for each number that would not be written as it was.
export function parse(text) {
  let some = false
  let inside = false // of a text
  const marked = text.replace(pieces, (piece) => {
    if (piece === '"') inside = !inside
    if (inside || piece === '"' || String(Number(piece)) === piece) return piece
    some = true
    return `"${mark}${piece}"`
  })
  if (!some) return JSON.parse(text)
  return JSON.parse(marked, (_, value) => (typeof value === 'string' && value.startsWith(mark) ? new Exact(value.slice(mark.length)) : value))
}

const marks = new RegExp(`"${mark}([^"]*)"`, 'g')

// write(value, space): as JSON.stringify, with the digits that were read.
export const write = (value, space) => JSON.stringify(value, null, space)?.replace(marks, '$1')
