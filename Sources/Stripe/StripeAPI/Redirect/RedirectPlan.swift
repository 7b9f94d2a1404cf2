/// Where a customer is to be sent, read from an object; nil from those that send nobody anywhere.
struct RedirectPlan: Hashable, Sendable {
    let id: String
    let clientSecret: ClientSecret?
    let nativeURL: String?
    let webURL: String?
    let returnURL: ReturnURL?
    /// WeChat has no page to fall back to.
    let needsApp: Bool

    /// Of a Source with flow `redirect` or type `wechat`, pending or chargeable, and with somewhere to go.
    init?(_ source: Source) {
        guard source.flow == .redirect || source.type == .wechat else { return nil }
        guard source.status == .pending || source.status == .chargeable else { return nil }
        switch source.details {
        case .alipay(let alipay)?: nativeURL = alipay.nativeURL
        case .weChat(let weChat)?: nativeURL = weChat.iosNativeURL
        default: nativeURL = nil
        }
        webURL = source.redirect?.url
        guard nativeURL != nil || webURL != nil else { return nil }
        id = source.id
        clientSecret = source.clientSecret
        returnURL = source.redirect.flatMap { ReturnURL($0.returnURL) }
        needsApp = source.type == .wechat
    }

    /// Of a PaymentIntent in `requires_action` whose next action is `redirect_to_url` with both addresses.
    init?(_ intent: PaymentIntent) {
        guard intent.status == .requiresAction else { return nil }
        self.init(intent.id, intent.clientSecret, intent.nextAction)
    }

    /// Of a SetupIntent; as of a PaymentIntent.
    init?(_ intent: SetupIntent) {
        guard intent.status == .requiresAction else { return nil }
        self.init(intent.id, intent.clientSecret, intent.nextAction)
    }

    private init?(_ id: String, _ clientSecret: ClientSecret?, _ action: NextAction?) {
        guard action?.type == .redirectToURL,
            let url = action?.redirectToURL?.url,
            let returnURL = action?.redirectToURL?.returnURL
        else { return nil }
        self.id = id
        self.clientSecret = clientSecret
        nativeURL = nil
        webURL = url
        self.returnURL = ReturnURL(returnURL)
        needsApp = false
    }
}

extension RedirectPlan: RedactedValue {}
