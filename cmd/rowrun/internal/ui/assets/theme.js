// Read before the first paint, so that a chosen theme doesn't flash.
try {
  const theme = localStorage.getItem('rowrun.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch { /* storage may be forbidden */ }
