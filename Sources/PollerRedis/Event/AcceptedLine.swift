import PollerDeliveries
import PollerIdentity

/// The accepted events of a delivery whose attempts were removed, with their times.
///
/// *Shape*: `seq.seconds` for the oldest, the seconds since 1970 in hex, and then, separated by commas, `seq+seconds`
/// since the previous one: `1.6925e1a3,2+3c,3+0`. Only the newest that fit are kept, about ten: a longer value would
/// make Redis use three times as much memory for the record.
enum AcceptedLine {
    /// The longest value that Redis keeps compact in a hash (`hash-max-listpack-value`).
    static let lengthMax = 64

    /// Reads the events as attempts whose other details are unknown.
    static func attempts(_ line: String) -> [AttemptRecord] {
        var before: Int64 = 0
        return line.split(separator: ",").compactMap { entry in
            let parts = entry.split { $0 == "." || $0 == "+" }
            guard parts.count == 2, let seq = Int(count: parts[0]),
                let number = Int64(parts[1], radix: 16), (0..<1 << 40).contains(number)
            else { return nil }
            let seconds = min(entry.contains("+") ? before + number : number, 1 << 40)
            before = seconds
            return AttemptRecord(acceptedAt: Timestamp(ms: seconds * 1000), seq: seq)
        }
    }
}
