import PollerIdentity
import PollerPayments
import Synchronization

/// The pages of shops, each built on first use, and again after the shop's branding has changed.
///
/// Building a page costs more than sending it, because its style and script are hashed for the policy. The branding may
/// change while the process runs.
///
/// It holds one page per shop of the configuration.
final class ShopPages<Page: Sendable>: Sendable {
    private let branding: @Sendable () -> [AccountID: Branding]
    private let make: @Sendable (Branding?) -> Page
    private let made = Mutex<[AccountID: (shop: Branding, page: Page)]>([:])
    /// The page without branding.
    let plain: Page

    init(
        of branding: @escaping @Sendable () -> [AccountID: Branding],
        make: @escaping @Sendable (Branding?) -> Page
    ) {
        self.branding = branding
        self.make = make
        plain = make(nil)
    }

    /// The shops with their current branding.
    var shops: [AccountID: Branding] { branding() }

    subscript(account: AccountID) -> Page {
        guard let shop = branding()[account] else { return plain }
        return made.withLock { made in
            if let known = made[account], known.shop == shop { return known.page }
            let page = make(shop)
            made[account] = (shop, page)
            return page
        }
    }
}
