import PollerAPI
import PollerIdentity
import PollerWatches
import SafeNumbers
import SecretFiles

/// Reads single options.
///
/// Every error names the option in all its spellings, the origin of the value, and the correct form.
struct OptionReader {
    let values: [String: Configuration.Value]

    func text(_ key: String) -> String? {
        values[key]?.text
    }

    func wrong(_ key: String, _ what: String) -> ConfigurationError {
        let option = Option.named(key)
        let origin = values[key]?.origin.rawValue ?? "default"
        return ConfigurationError(
            "\(option.variable) (\(option.flag), from \(origin)) \(what)",
            key: key
        )
    }

    /// Rejects values with quotation marks or byte order marks that a tool has added.
    func checkQuoting() throws(ConfigurationError) {
        for option in Option.all {
            guard let text = text(option.key), let objection = WrittenValue.problem(in: text)
            else { continue }
            throw wrong(option.key, objection)
        }
    }

    func parsed<Value>(
        _ key: String,
        _ parse: (String) throws(InvalidInput) -> Value
    ) throws(ConfigurationError) -> Value? {
        guard let text = text(key), !text.isEmpty else { return nil }
        do throws(InvalidInput) {
            return try parse(text)
        } catch {
            throw wrong(key, error.message)
        }
    }

    /// Returns the parts of a comma-separated list.
    func list<Value>(
        _ key: String,
        _ parse: (String) throws(InvalidInput) -> Value
    ) throws(ConfigurationError) -> [Value] {
        var values: [Value] = []
        for part in (text(key) ?? "").split(separator: ",") {
            do throws(InvalidInput) {
                values.append(try parse(part.filter { $0 != " " }))
            } catch {
                throw wrong(key, error.message)
            }
        }
        return values
    }

    func name(_ key: String) throws(ConfigurationError) -> String {
        let name = text(key) ?? ""
        guard (1...32).contains(name.utf8.count),
            name.utf8.allSatisfy({ byte in
                (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z")
                    || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
                    || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            })
        else { throw wrong(key, "must be 1–32 letters, digits, '_' or '-'") }
        return name
    }

    func bind(_ key: String) throws(ConfigurationError) -> ListenAddress {
        do throws(InvalidInput) {
            return try ListenAddress(text(key) ?? "", field: key)
        } catch {
            throw wrong(key, error.message)
        }
    }

    func httpURL(_ key: String) throws(ConfigurationError) -> String {
        var url = text(key) ?? ""
        while url.hasSuffix("/") { url.removeLast() }
        guard url.hasPrefix("https://") || url.hasPrefix("http://"), url.count > 8 else {
            throw wrong(key, "must be an http:// or https:// URL")
        }
        return url
    }

    /// Reads origins as browsers send them (RFC 6454 §7): scheme, host and optional port, no path.
    func origins(_ key: String) throws(ConfigurationError) -> Set<String> {
        var origins: Set<String> = []
        for part in (text(key) ?? "").split(separator: ",") {
            let origin = part.filter { $0 != " " }
            let host = origin.drop { $0 != "/" }.dropFirst(2)
            let isPlain = host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && !host.contains("/")
            guard origin.hasPrefix("https://") || origin.hasPrefix("http://"), !host.isEmpty,
                isPlain, origin == origin.lowercased()
            else {
                throw wrong(
                    key,
                    "must be origins in lower case such as https://shop.example, by comma"
                )
            }
            origins.insert(origin)
        }
        return origins
    }

    /// Reads names of metadata, separated by commas.
    ///
    /// An empty value means none.
    func searchKeys(_ key: String) throws(ConfigurationError) -> SearchKeys {
        let names = (text(key) ?? "").split(separator: ",").map { $0.filter { $0 != " " } }
        do throws(InvalidInput) {
            return try SearchKeys(names.filter { !$0.isEmpty })
        } catch {
            throw wrong(key, error.message)
        }
    }

    /// Reads an https URL without a query, suitable for links in emails.
    ///
    /// http is allowed for this machine only (RFC 8058 §3.1 requires https).
    func publicURL(_ key: String) throws(ConfigurationError) -> String? {
        guard let text = text(key), !text.isEmpty else { return nil }
        var url = text
        while url.hasSuffix("/") { url.removeLast() }
        let rest = url.drop { $0 != "/" }.dropFirst(2)
        let host = rest.prefix { $0 != "/" && $0 != ":" }
        let forbidden = Set("\"'<>\\`{}|^?#@,".utf8)
        let isPlain = url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !forbidden.contains($0) }
        let isLocal = url.hasPrefix("http://") && ListenAddress.isLoopback(host: host)
        guard url.hasPrefix("https://") || isLocal, isPlain, !host.isEmpty, url.utf8.count <= 512
        else { throw wrong(key, "must be an https:// URL without a query") }
        return url
    }

    func count(_ key: String, _ range: ClosedRange<Int>) throws(ConfigurationError) -> Int {
        guard let count = Int(safe: text(key) ?? ""), range.contains(count) else {
            throw wrong(
                key,
                "must be a whole number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return count
    }

    func span(
        _ key: String,
        from least: Duration,
        to most: Duration
    ) throws(ConfigurationError) -> Duration {
        // Zero needs no unit.
        let written = text(key) == "0" ? "0s" : text(key) ?? ""
        guard let span = Duration(text: written), span >= least, span <= most else {
            throw wrong(
                key,
                "must be a duration from \(least.text) to \(most.text), such as 90s or 5m"
            )
        }
        return span
    }

    func choice<Value>(
        _ key: String,
        _ make: (String) -> Value?
    ) throws(ConfigurationError) -> Value {
        guard let value = make(text(key) ?? "") else {
            throw wrong(key, "must be one of: \(Option.named(key).help)")
        }
        return value
    }
}
