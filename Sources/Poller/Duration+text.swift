extension Duration {
    /// The span in whole milliseconds, cut toward zero.
    package var ms: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }

    /// The span in seconds.
    package var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }

    /// Reads a span as users write it: `250ms`, `90s`, `5m`, `36h`, `30d`.
    ///
    /// - Returns: nil when the text is not digits and one of these units, or is 100 years or more.
    package init?(text: some StringProtocol) {
        let units: [(suffix: String, ms: Int64)] = [
            ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
        ]
        for unit in units where text.hasSuffix(unit.suffix) {
            let digits = text.dropLast(unit.suffix.count)
            guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }) else {
                continue
            }
            guard let count = Int64(digits) else { return nil }
            let (ms, overflow) = count.multipliedReportingOverflow(by: unit.ms)
            guard !overflow, ms < 3_155_760_000_000 else { return nil }
            self = .milliseconds(ms)
            return
        }
        return nil
    }

    /// The span as users write it, in the largest unit that divides it: `90s`, `5m`, `36h`.
    package var text: String {
        let units: [(String, Int64)] = [
            ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000),
        ]
        for (suffix, size) in units where ms >= size && ms % size == 0 {
            return "\(ms / size)\(suffix)"
        }
        return "\(ms)ms"
    }
}
