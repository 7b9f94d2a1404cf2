/// A constant value on the heap, so that its holder is copied as one reference.
///
/// An event has about twenty references. Each copy of it would retain all of them.
final class Box<Value: Hashable & Sendable>: Hashable, Sendable {
    let value: Value

    /// Moves a value to the heap.
    init(_ value: Value) {
        self.value = value
    }

    func hash(into hasher: inout Hasher) { hasher.combine(value) }

    static func == (one: Box, other: Box) -> Bool {
        one === other || one.value == other.value
    }
}
