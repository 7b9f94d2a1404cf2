import Hummingbird
import Poller

/// The query of a request, of which every parameter must be known, and given once with a value.
struct QueryParameters {
    private let values: [String: String]

    /// Reads a query that may have these parameters.
    init(_ request: Request, allowed: [String]) throws(Problem) {
        var values: [String: String] = [:]
        for (name, value) in request.uri.queryParameters where !name.isEmpty || !value.isEmpty {
            let name = String(name)
            guard allowed.contains(name) else {
                let known =
                    allowed.isEmpty ? "it has none" : "it has \(allowed.joined(separator: ", "))"
                throw Problem(
                    .unknownParameter,
                    "\(name.prefix(64)) is not a parameter of this route; \(known).",
                    field: String(name.prefix(64))
                )
            }
            guard !value.isEmpty else {
                throw Problem(
                    .invalidParameter,
                    "\(name) is empty; give it a value, or leave it out.",
                    field: name
                )
            }
            guard values.updateValue(String(value), forKey: name) == nil else {
                throw Problem(.invalidParameter, "\(name) is given twice.", field: name)
            }
        }
        self.values = values
    }

    /// A parameter's text, which is never empty; nil when it is absent.
    func text(_ name: String) -> String? { values[name] }

    /// A whole number within a range.
    func integer(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        guard let text = text(name) else { return nil }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text),
            range.contains(number)
        else {
            throw Problem(
                .invalidParameter,
                "\(name) must be a whole number of \(range.lowerBound) to \(range.upperBound).",
                field: name
            )
        }
        return number
    }

    /// How long to wait for news: `30s`; zero when it is absent.
    func wait() throws(Problem) -> Duration {
        guard let text = text("wait") else { return .zero }
        guard let wait = Duration(text: text), wait <= LongPolls.waitMax else {
            throw Problem(
                .invalidParameter,
                "wait must be a span of 0s to \(LongPolls.waitMax.text), for example 30s.",
                field: "wait"
            )
        }
        return wait
    }

    /// A parameter that checks itself.
    func checked<Value>(
        _ name: String,
        _ make: (String) throws(InvalidInput) -> Value
    ) throws(Problem) -> Value? {
        guard let text = text(name) else { return nil }
        return try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
            try make(text)
        }
    }

    /// A parameter that is one of an enumeration's names.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String,
        _ type: Choice.Type
    ) throws(Problem) -> Choice? where Choice.RawValue == String {
        guard let text = text(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let all = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem(.invalidParameter, "\(name) must be one of \(all).", field: name)
        }
        return choice
    }

    /// Some names with commas between; empty when it is absent.
    func list(_ name: String, countMax: Int) throws(Problem) -> [String] {
        guard let text = text(name) else { return [] }
        let items = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard items.count <= countMax, items.allSatisfy({ !$0.isEmpty }) else {
            throw Problem(
                .invalidParameter,
                "\(name) must be 1 to \(countMax) names with commas between.",
                field: name
            )
        }
        return items
    }
}
