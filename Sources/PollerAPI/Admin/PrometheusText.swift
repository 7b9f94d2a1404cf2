/// The spelling rules of Prometheus' text format 0.0.4.
enum PrometheusText {
    /// A metric or label name: other characters than `a–z A–Z 0–9 _` become `_`.
    static func name(_ text: String) -> String {
        var name = String(
            text.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") ? $0 : "_" }
        )
        if name.first.map(\.isNumber) ?? true { name = "_" + name }
        return name
    }

    /// Labels in order of their names, without braces: `a="1",b="2"`.
    static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.sorted { $0.0 < $1.0 }
            .map { "\(name($0.0))=\"\(escaped($0.1))\"" }
            .joined(separator: ",")
    }

    /// A number: whole ones without a fraction.
    static func number(_ value: Double) -> String {
        if value == .infinity { return "+Inf" }
        if value == -.infinity { return "-Inf" }
        return Int(exactly: value).map(String.init) ?? "\(value)"
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}
