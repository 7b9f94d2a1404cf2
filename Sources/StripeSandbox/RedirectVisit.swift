/// What the redirect page shows: one source or intent and where its customer goes next.
struct RedirectVisit {
    let id: String
    let title: String
    let amount: String
    let isOpen: Bool
    let status: String
    let returnURL: String
}
