import Poller
import PollerIdentity

/// When which event was accepted, of a delivery whose attempts are forgotten.
///
/// *Shape*: `seq.seconds` for the oldest, the seconds since 1970 in hex, and then, with commas between, `seq+seconds`
/// since the one before: `1.6925e1a3,2+3c,3+0`. Of more than have room the newest, some ten: a record with a longer
/// value would take Redis three times as much.
enum AcceptedLine {
    /// What Redis keeps compact in a hash (`hash-max-listpack-value`).
    static let lengthMax = 64

    /// Reads them as attempts of which little else is known.
    static func attempts(_ line: String) -> [AttemptRecord] {
        var before: Int64 = 0
        return line.split(separator: ",").compactMap { entry in
            let parts = entry.split { $0 == "." || $0 == "+" }
            guard parts.count == 2, let seq = Int(count: parts[0]),
                let told = Int64(parts[1], radix: 16), (0..<1 << 40).contains(told)
            else { return nil }
            let seconds = min(entry.contains("+") ? before + told : told, 1 << 40)
            before = seconds
            return AttemptRecord(acceptedAt: Timestamp(ms: seconds * 1000), seq: seq)
        }
    }
}
