import ArgumentParser

/// A span as users write it: `250ms`, `90s`, `5m`, `36h`, `7d`.
struct Span: ExpressibleByArgument {
    let duration: Duration

    init(_ duration: Duration) {
        self.duration = duration
    }

    init?(argument: String) {
        let units: [(suffix: String, ms: Int64)] = [
            ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
        ]
        guard let unit = units.first(where: { argument.hasSuffix($0.suffix) }) else { return nil }
        let digits = argument.dropLast(unit.suffix.count)
        // Ten digits of the largest unit stay far below the overflow.
        guard (1...10).contains(digits.count), digits.allSatisfy({ "0"..."9" ~= $0 }),
            let count = Int64(digits)
        else { return nil }
        duration = .milliseconds(count * unit.ms)
    }

    var defaultValueDescription: String { "\(duration.components.seconds)s" }
}
