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

    /// Of an intent in `requires_action` whose next action is `redirect_to_url` with both addresses.
    init?(
        _ id: String,
        _ clientSecret: ClientSecret?,
        requiresAction: Bool,
        _ action: NextAction?
    ) {
        guard requiresAction, action?.type == .redirectToURL,
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
