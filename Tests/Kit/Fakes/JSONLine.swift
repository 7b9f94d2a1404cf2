import Foundation

/// A JSON value that a peer printed, read by path.
package struct JSONLine: Hashable, Sendable, CustomStringConvertible {
    private enum Value: Hashable, Sendable {
        case null
        case bool(Bool)
        case number(Double)
        case string(String)
        case array([JSONLine])
        case object([String: JSONLine])
    }

    private let value: Value

    /// Parses a text; `nil` if it is not JSON.
    package init?(_ text: String) {
        guard
            let any = try? JSONSerialization.jsonObject(
                with: Data(text.utf8),
                options: .fragmentsAllowed
            )
        else { return nil }
        self.init(any)
    }

    private init(_ any: Any) {
        switch any {
        case let object as [String: Any]: value = .object(object.mapValues(JSONLine.init))
        case let array as [Any]: value = .array(array.map(JSONLine.init))
        case let text as String: value = .string(text)
        case let number as NSNumber:
            value =
                unsafe String(cString: number.objCType) == "c"
                ? .bool(number.boolValue) : .number(number.doubleValue)
        default: value = .null
        }
    }

    package subscript(name: String) -> JSONLine? {
        guard case .object(let members) = value else { return nil }
        return members[name]
    }

    package var string: String? {
        guard case .string(let text) = value else { return nil }
        return text
    }

    package var int: Int? {
        guard case .number(let number) = value else { return nil }
        return Int(number)
    }

    package var bool: Bool? {
        guard case .bool(let flag) = value else { return nil }
        return flag
    }

    package var array: [JSONLine]? {
        guard case .array(let items) = value else { return nil }
        return items
    }

    package var isNull: Bool { value == .null }

    package var description: String { "\(value)" }
}
