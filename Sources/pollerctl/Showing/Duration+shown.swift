extension Duration {
    /// The span for people, cut to one unit: `350 ms`, `42 s`, `7 min`, `3 h`, `2 d`.
    var shown: String {
        let seconds = components.seconds
        switch seconds {
        case 0: return "\(components.attoseconds / 1_000_000_000_000_000) ms"
        case ..<120: return "\(seconds) s"
        case ..<7200: return "\(seconds / 60) min"
        case ..<172_800: return "\(seconds / 3600) h"
        default: return "\(seconds / 86_400) d"
        }
    }
}
