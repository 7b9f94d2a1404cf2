/// An optional value behind a reference, which takes one word where it is missing.
///
/// For large values that few items have: a decision is copied several times on its way to the store, and most watches
/// have no money.
@propertyWrapper
package struct Boxed<Value: Hashable & Sendable>: Hashable, Sendable {
    /// A class, because a value cannot be shared by reference otherwise.
    private final class Box: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    private var box: Box?

    package var wrappedValue: Value? {
        get { box?.value }
        set { box = newValue.map { Box($0) } }
    }

    /// Creates a box, or none for `nil`.
    package init(wrappedValue: Value?) {
        box = wrappedValue.map { Box($0) }
    }

    package static func == (one: Self, other: Self) -> Bool {
        one.box === other.box || one.wrappedValue == other.wrappedValue
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}
