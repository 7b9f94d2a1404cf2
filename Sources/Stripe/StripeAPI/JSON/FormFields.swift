/// Turns nested values into the pairs of a form, as Stripe's SDKs do.
///
/// *Shape*: `owner[address][city]=Berlin`, `types[]=a&types[]=b`, `items[][type]=sku`; null becomes an empty
/// text, which unsets a field. Members are sorted by name, so the same value always makes the same form: an
/// idempotency key must not meet other bytes when a request is repeated by another process.
/// *Source*: <https://docs.stripe.com/api> and `URLEncoder` of stripe-ios.
enum FormFields {
    /// The pairs of an object; of a value that is none, nothing.
    static func pairs(of value: JSONValue) -> [(String, String)] {
        var pairs: [(String, String)] = []
        for (name, member) in (value.object ?? [:]).sorted(by: { $0.key < $1.key }) {
            append(member, named: name, to: &pairs)
        }
        return pairs
    }

    private static func append(
        _ value: JSONValue,
        named name: String,
        to pairs: inout [(String, String)]
    ) {
        switch value {
        case .null: pairs.append((name, ""))
        case .bool(let flag): pairs.append((name, flag ? "true" : "false"))
        case .integer(let number): pairs.append((name, String(number)))
        case .number(let number): pairs.append((name, String(number)))
        case .string(let text): pairs.append((name, text))
        case .array(let items):
            for item in items { append(item, named: name + "[]", to: &pairs) }
        case .object(let members):
            for (key, member) in members.sorted(by: { $0.key < $1.key }) {
                append(member, named: "\(name)[\(key)]", to: &pairs)
            }
        }
    }
}
