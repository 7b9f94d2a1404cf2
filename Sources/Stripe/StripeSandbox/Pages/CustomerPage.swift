/// A page address: what the customer does there, of which object, and the button pressed.
struct CustomerPage {
    /// What a page is for.
    enum Kind: String {
        /// Authorise or refuse: what a bank or wallet shows.
        case redirect
        /// Send money to a receiver: what a bank's transfer form shows.
        case pay
        /// Type in the amounts of micro-deposits.
        case verify
    }

    let kind: Kind
    let id: String
    /// `authorize` or `fail` under `redirect`; else nil.
    let button: String?

    /// Reads `/redirect/src_1/authorize`; nil for any other path.
    init?(_ path: String) {
        let segments = path.split(separator: "/", omittingEmptySubsequences: true)
        guard (2...3).contains(segments.count), let kind = Kind(rawValue: String(segments[0]))
        else { return nil }
        self.kind = kind
        id = String(segments[1])
        button = segments.count > 2 ? String(segments[2]) : nil
        guard kind == .redirect || button == nil else { return nil }
    }
}
