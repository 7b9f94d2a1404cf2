import JSONText
import Poller

/// Builds the text of a JSON object, member by member, so that bytes from the store pass through
/// untouched.
struct JSONObject {
    private var members = ""

    /// The object so far.
    var text: String { "{\(members)}" }

    /// An array of texts that are JSON already.
    static func array(_ elements: [String]) -> String {
        "[\(elements.joined(separator: ","))]"
    }

    /// Adds a member whose value is JSON text already.
    mutating func add(_ name: String, raw value: String) {
        if !members.isEmpty { members += "," }
        members += "\"\(name)\":\(value)"
    }

    mutating func add(_ name: String, _ value: String) {
        add(name, raw: JSONWriter.literal(value))
    }

    mutating func add(_ name: String, _ value: Int) {
        add(name, raw: String(value))
    }

    /// Adds a finite number; whole ones without a fraction.
    mutating func add(_ name: String, _ value: Double) {
        add(name, raw: Int(exactly: value).map(String.init) ?? String(value))
    }

    mutating func add(_ name: String, _ value: Bool) {
        add(name, raw: value ? "true" : "false")
    }

    /// Adds a string, or null.
    mutating func add(_ name: String, orNull value: String?) {
        add(name, raw: value.map { JSONWriter.literal($0) } ?? "null")
    }
}
