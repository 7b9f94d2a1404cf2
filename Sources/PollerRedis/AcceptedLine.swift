import Poller

/// When which event was accepted, of a delivery whose attempts are forgotten.
///
/// *Shape*: `seq.seconds` for each, oldest first, with commas between; the seconds since 1970 in hex. Of more than
/// have room the newest: a record with a longer value would take Redis three times as much.
enum AcceptedLine {
    /// What Redis keeps compact in a hash (`hash-max-listpack-value`).
    static let lengthMax = 64

    /// Reads them as attempts of which little else is known.
    static func attempts(_ line: String) -> [AttemptRecord] {
        line.split(separator: ",").compactMap { entry in
            let parts = entry.split(separator: ".")
            guard parts.count == 2, let seq = Int(parts[0]),
                let seconds = Int64(parts[1], radix: 16), seconds < 1 << 40
            else { return nil }
            return AttemptRecord(acceptedAt: Timestamp(ms: seconds * 1000), seq: seq)
        }
    }
}
