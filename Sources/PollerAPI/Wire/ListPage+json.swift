import Poller

extension ListPage {
    /// The page on the wire, each item as `render` writes it.
    func json(_ render: (Item) -> String) -> String {
        var json = JSONObject()
        json.add("data", raw: JSONObject.array(items.map(render)))
        json.add("has_more", next != nil)
        json.add("next", orNull: next)
        return json.text
    }
}
