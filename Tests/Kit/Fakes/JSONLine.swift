import JSONText

/// A JSON value that a peer printed, read by path.
package struct JSONLine: Hashable, Sendable, CustomStringConvertible {
    private let value: RawJSON

    /// Parses a text; `nil` if it is not JSON.
    package init?(_ text: String) {
        guard let value = RawJSON(text) else { return nil }
        self.init(value: value)
    }

    private init(value: RawJSON) {
        self.value = value
    }

    package subscript(name: String) -> JSONLine? {
        value.member(name).map { JSONLine(value: $0) }
    }

    package var string: String? { value.string }

    package var int: Int? { value.number.flatMap { Double($0) }.map { Int($0) } }

    package var bool: Bool? { value.bool }

    package var array: [JSONLine]? {
        value.elements?.map { JSONLine(value: $0) }
    }

    package var isNull: Bool { value.isNull }

    package var description: String { value.description }
}
