// Read before all else: a chosen theme doesn't flash, and what every page begins with is on its way while the scripts still come.
{
  const first = { session: null, texts: null, locale: 'en' }
  const languages = ['en', 'zh-CN', 'es', 'ja', 'vi']
  const kept = (name) => {
    try {
      return localStorage.getItem('rowrun.' + name)
    } catch { // storage may be forbidden
      return null
    }
  }
  const theme = kept('theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
  const base = (name) => name.split('-')[0]
  const wishes = [kept('locale'), ...navigator.languages ?? []]
  for (const wish of wishes.filter(Boolean)) {
    const found = languages.includes(wish) ? wish : languages.find((name) => base(name) === base(wish))
    if (!found) continue
    first.locale = found
    break
  }
  const ask = (address) => {
    const answer = fetch(address)
    answer.catch(() => {}) // who waits for it says so
    return answer
  }
  first.texts = ask(new URL(`locales/${first.locale}.json`, document.currentScript.src))
  if (!location.hash) first.session = ask(new URL('api/v1/session', document.baseURI)) // a token behind # signs in first
  window.rowrun = first
}
