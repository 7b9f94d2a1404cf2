/// A coding key known only at run time, such as the hash named after a Source's type.
struct AnyKey: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String

    var intValue: Int? { nil }

    init(_ name: String) {
        stringValue = name
    }

    init(stringValue: String) {
        self.stringValue = stringValue
    }

    init(stringLiteral value: String) {
        stringValue = value
    }

    init?(intValue: Int) {
        nil
    }
}
