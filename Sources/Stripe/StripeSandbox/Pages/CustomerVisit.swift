/// What a page shows: one object and where its customer goes next.
struct CustomerVisit {
    let id: String
    let title: String
    let amount: String
    /// What a transfer has still to bring, in the smallest unit.
    var missing: Int?
    /// Whether there is something left to do.
    let isOpen: Bool
    let status: String
    /// Where the customer comes back to; nil for methods that know no way back.
    let returnURL: String?
    /// What the customer has to know: a bank account, a reference, attempts left.
    var facts: [(label: String, text: String)] = []
}
